-- Where a document comes from ("person", "web:example.org"), and how much it is to be trusted: the rank of its least
-- trusted source, 0 for a person to 4 for the web. Null for what was stored before this was recorded.
ALTER TABLE document ADD COLUMN origin TEXT;
ALTER TABLE document ADD COLUMN trust BIGINT;
-- A scene's note becomes a document only once a patrol has made it a scene.
ALTER TABLE note ADD COLUMN origin TEXT;

-- Writes that wait for a person's approval: the call as it was made, and later what was decided. Nothing of it is in any
-- other table before that; an approved call is made then, so that ids stay clocks.
CREATE TABLE held (
    workspace_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    origin TEXT NOT NULL,
    call TEXT NOT NULL,
    -- The arguments of the call as JSON, their hash, and what a person reads to decide.
    arguments TEXT NOT NULL,
    digest TEXT NOT NULL,
    text TEXT NOT NULL,
    session TEXT,
    model_tier TEXT,
    at BIGINT NOT NULL,
    decision TEXT CHECK (decision IN ('approved', 'rejected')),
    decided_at BIGINT,
    decided_by TEXT,
    reason TEXT,
    checksum BIGINT,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, id) REFERENCES item (workspace_id, id)
);
CREATE INDEX held_waiting ON held (workspace_id, id) WHERE decision IS NULL;
CREATE INDEX held_by_digest ON held (workspace_id, digest);
