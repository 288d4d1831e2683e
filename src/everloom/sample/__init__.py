"""The sample workspace: invented people and an old boat, so that everything can be tried on a memory with a past.

Tells its story through the verbs of every faculty, under a clock that is set to the day of each part. Refuses to know
who asks for it; the command line and the page both do. Its texts are in the files beside the modules.
"""

from everloom.sample.making import DESCRIPTION, SAMPLE_NAME, Sample, make_sample

__all__ = ["DESCRIPTION", "SAMPLE_NAME", "Sample", "make_sample"]
