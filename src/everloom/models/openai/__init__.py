"""OpenAI's wire, as spoken by OpenAI and by every compatible server: questions, conversations, embeddings.

Knows paths and bodies; errors and retries are the transport's, vectors and shapes are checked elsewhere.
"""
