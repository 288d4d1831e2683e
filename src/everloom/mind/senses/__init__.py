"""The senses: what comes with a message besides its words, such as pictures, documents, recordings and files.

Owns the files by their hashes, the rows that say which message has which, and what a model is told of them. Refuses to
know channels and providers.
"""

from everloom.mind.senses.attachments import Attachment, Attachments, IncomingFile

__all__ = ["Attachment", "Attachments", "IncomingFile"]
