-- The files that came with messages: what they are, and the hash by which the file itself is kept beside the store.
-- `text` is what was read or heard in one, `tokens` what a model takes for one that can be shown. One without a hash was
-- left out, and `note` says why.
CREATE TABLE attachment (
    workspace_id BIGINT NOT NULL,
    message_id BIGINT NOT NULL,
    number BIGINT NOT NULL,
    hash TEXT NOT NULL,
    name TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size BIGINT NOT NULL,
    text TEXT NOT NULL,
    note TEXT NOT NULL,
    seconds BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    -- Attempts to listen to a recording that failed so far, and when the next one is made.
    attempts BIGINT NOT NULL DEFAULT 0,
    not_before BIGINT NOT NULL DEFAULT 0,
    checksum BIGINT,
    PRIMARY KEY (workspace_id, message_id, number),
    FOREIGN KEY (workspace_id, message_id) REFERENCES message (workspace_id, id)
);
CREATE INDEX attachment_by_hash ON attachment (workspace_id, hash);
