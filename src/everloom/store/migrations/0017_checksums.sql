-- A checksum of what cannot be restored from anything else in the row: see store/checksums.py. The program that migrates
-- computes those that are missing; a migration that changes covered columns sets them to NULL.
ALTER TABLE workspace ADD COLUMN checksum BIGINT;
ALTER TABLE item ADD COLUMN checksum BIGINT;
ALTER TABLE session ADD COLUMN checksum BIGINT;
ALTER TABLE event ADD COLUMN checksum BIGINT;
ALTER TABLE receipt ADD COLUMN checksum BIGINT;
ALTER TABLE signal ADD COLUMN checksum BIGINT;
ALTER TABLE perspective ADD COLUMN checksum BIGINT;
ALTER TABLE document ADD COLUMN checksum BIGINT;
ALTER TABLE embedding ADD COLUMN checksum BIGINT;
ALTER TABLE understanding ADD COLUMN checksum BIGINT;
ALTER TABLE subject ADD COLUMN checksum BIGINT;
ALTER TABLE subject_name ADD COLUMN checksum BIGINT;
ALTER TABLE subject_tag ADD COLUMN checksum BIGINT;
ALTER TABLE being ADD COLUMN checksum BIGINT;
ALTER TABLE scene ADD COLUMN checksum BIGINT;
ALTER TABLE note ADD COLUMN checksum BIGINT;
ALTER TABLE entry ADD COLUMN checksum BIGINT;
ALTER TABLE message ADD COLUMN checksum BIGINT;
ALTER TABLE array_entry ADD COLUMN checksum BIGINT;
ALTER TABLE mind_note_version ADD COLUMN checksum BIGINT;
ALTER TABLE scheduled ADD COLUMN checksum BIGINT;
