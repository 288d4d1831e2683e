-- What programs keep while they run: the state of agent frameworks, not memories. `space` says whose they are
-- ("langgraph.store"), `namespace` is a path of which every part ends with a slash, and `position` is the order in which
-- keys came into their namespace.
CREATE TABLE program_record (
    workspace_id BIGINT NOT NULL REFERENCES workspace (id),
    space TEXT NOT NULL,
    namespace TEXT NOT NULL,
    key TEXT NOT NULL,
    position BIGINT NOT NULL,
    -- Grows by one with every change: whoever changes a record names the revision that was read.
    revision BIGINT NOT NULL,
    -- JSON, and beside it bytes that only the program can read.
    value TEXT NOT NULL,
    data BYTEA,
    -- The document by which search finds it, if it has one.
    item_id BIGINT,
    created_at BIGINT NOT NULL,
    changed_at BIGINT NOT NULL,
    -- How long it lives after its last use, in microseconds, and until when; null for what stays.
    lifetime BIGINT,
    expires_at BIGINT,
    checksum BIGINT,
    PRIMARY KEY (workspace_id, space, namespace, key),
    FOREIGN KEY (workspace_id, item_id) REFERENCES item (workspace_id, id)
);
CREATE INDEX program_record_by_position ON program_record (workspace_id, space, namespace, position);
CREATE INDEX program_record_by_item ON program_record (workspace_id, item_id) WHERE item_id IS NOT NULL;
CREATE INDEX program_record_by_end ON program_record (workspace_id, expires_at) WHERE expires_at IS NOT NULL;
-- only: postgresql
-- In the order of characters, whatever the language of the database: only then do paths with one beginning stand together.
CREATE INDEX program_record_by_path ON program_record (workspace_id, space, namespace COLLATE "C", position);
-- end
