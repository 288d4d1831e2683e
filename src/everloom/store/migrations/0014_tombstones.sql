-- What was forgotten: that, what kind of thing, and when, never what it said. `event_id` is the forgetting, and tells by
-- whom; `scrubbed_at` is when the engine's files were cleaned of its words; a lifted tombstone keeps nothing away.
CREATE TABLE tombstone (
    workspace_id BIGINT NOT NULL REFERENCES workspace (id),
    item_id BIGINT NOT NULL,
    kind TEXT NOT NULL,
    at BIGINT NOT NULL,
    event_id BIGINT NOT NULL,
    scrubbed_at BIGINT,
    lifted_at BIGINT,
    PRIMARY KEY (workspace_id, item_id),
    FOREIGN KEY (workspace_id, event_id) REFERENCES event (workspace_id, id)
); -- small
CREATE INDEX tombstone_unscrubbed ON tombstone (workspace_id, item_id) WHERE scrubbed_at IS NULL;

-- By what a forgotten item is recognised when it comes back: hashes of its text and of its names elsewhere, made with the
-- secret of the workspace, so that a short text cannot be found by trying.
CREATE TABLE tombstone_digest (
    workspace_id BIGINT NOT NULL,
    digest TEXT NOT NULL,
    item_id BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, digest, item_id),
    FOREIGN KEY (workspace_id, item_id) REFERENCES tombstone (workspace_id, item_id)
); -- small
CREATE TABLE tombstone_secret (
    workspace_id BIGINT PRIMARY KEY REFERENCES workspace (id),
    secret TEXT NOT NULL
); -- small

-- only: sqlite
-- Vectors that were deleted: processes that hold them in memory let go of them when they next look.
CREATE TABLE vector_gone (
    workspace_id BIGINT NOT NULL REFERENCES workspace (id),
    revision BIGINT NOT NULL,
    item_id BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, revision)
); -- small
-- end
