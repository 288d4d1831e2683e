"""What programs keep while they run: records by namespace and key, with revisions, in the store of the memory.

Owns their table. They are the state of programs, not memories of a person: nothing learns from them, and the audit
trail lists only what search finds from then on. A record may have a document, and is then found by the one search.
Forgetting and the removal of a workspace take records along. Refuses to know the programs, and what a value means.
"""

from everloom.kernel.records.records import ProgramRecord, RecordReader, Records, RecordWriter

__all__ = ["ProgramRecord", "RecordReader", "RecordWriter", "Records"]
