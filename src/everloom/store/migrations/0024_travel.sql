-- Whether a workspace is on its way. Nobody sees one that is `arriving` until it is whole. One that is `leaving` is being
-- copied into another store and takes no writes; of one that is `gone`, only its name is left, and where it went.
-- `journey` is the same at both ends, so that whoever goes on after a crash knows what has been done.
ALTER TABLE workspace ADD COLUMN state TEXT NOT NULL DEFAULT 'here'
    CHECK (state IN ('arriving', 'here', 'leaving', 'gone'));
ALTER TABLE workspace ADD COLUMN journey TEXT;
ALTER TABLE workspace ADD COLUMN destination TEXT;
ALTER TABLE workspace ADD COLUMN departed_at BIGINT;
-- A workspace that came from another store keeps its ids, which others may have here. What must be unique in the whole
-- store, the rows of SQLite's word index, is counted from here.
ALTER TABLE workspace ADD COLUMN word_base BIGINT NOT NULL DEFAULT 0;
