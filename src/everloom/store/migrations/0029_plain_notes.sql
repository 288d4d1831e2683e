-- Notes that people wrote for themselves, and what texts mention.
-- What was assumed about a memory whose file people wrote for themselves, and whether the file has an id yet. The hash
-- knows such a file again after it was renamed; the row outlives the file, as that of its memory does.
CREATE TABLE plain_note (
    workspace_id BIGINT NOT NULL,
    memory_id BIGINT NOT NULL,
    graph_id BIGINT NOT NULL,
    hash TEXT NOT NULL,
    has_id BIGINT NOT NULL,
    assumed TEXT NOT NULL,
    PRIMARY KEY (workspace_id, memory_id),
    FOREIGN KEY (workspace_id, memory_id) REFERENCES memory (workspace_id, id)
);
CREATE INDEX plain_note_by_hash ON plain_note (workspace_id, graph_id, hash);

-- The names by which links in texts find a memory: of its file (rank 0), its title (1) and its aliases (2).
CREATE TABLE memory_name (
    workspace_id BIGINT NOT NULL,
    memory_id BIGINT NOT NULL,
    graph_id BIGINT NOT NULL,
    key TEXT NOT NULL,
    rank BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, memory_id, key),
    FOREIGN KEY (workspace_id, memory_id) REFERENCES memory (workspace_id, id)
);
CREATE INDEX memory_name_by_key ON memory_name (workspace_id, graph_id, key);

-- The links in the text of a memory, as they are written; where one leads is found by its key when somebody asks.
CREATE TABLE text_link (
    workspace_id BIGINT NOT NULL,
    memory_id BIGINT NOT NULL,
    position BIGINT NOT NULL,
    graph_id BIGINT NOT NULL,
    key TEXT NOT NULL,
    link TEXT NOT NULL,
    PRIMARY KEY (workspace_id, memory_id, position),
    FOREIGN KEY (workspace_id, memory_id) REFERENCES memory (workspace_id, id)
);
CREATE INDEX text_link_by_key ON text_link (workspace_id, graph_id, key);

-- Read every file once more: of those that are indexed, names and links are not known yet.
UPDATE graph_file SET hash = '', mtime_ns = 0;
