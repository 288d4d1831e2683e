-- Bearer tokens: hashes of secrets. Not under a workspace's key, for a token is looked up before a workspace is known.

CREATE TABLE token (
    digest TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    allowed_workspace BIGINT NOT NULL REFERENCES workspace (id) ON DELETE CASCADE,
    read_only BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT
);
CREATE UNIQUE INDEX token_in_force ON token (name_key) WHERE revoked_at IS NULL;
CREATE INDEX token_by_workspace ON token (allowed_workspace);
