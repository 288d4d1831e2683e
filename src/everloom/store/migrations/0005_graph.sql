-- The memory graph: named directories of markdown files. The files are the truth; these tables are their index, and
-- what is under way between the two. Texts are in document, accesses in access.

CREATE TABLE graph (
    workspace_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    directory TEXT NOT NULL,
    reflections BIGINT NOT NULL,
    reflected_at BIGINT,
    -- When each part of the daily round was last done.
    decayed_at BIGINT,
    cored_at BIGINT,
    mirrored_at BIGINT,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, name_key),
    FOREIGN KEY (workspace_id, id) REFERENCES item (workspace_id, id)
);

-- A memory's row outlives its file (`gone_at`), so that its accesses are known when a branch brings the file back.
CREATE TABLE memory (
    workspace_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    graph_id BIGINT NOT NULL,
    uuid TEXT NOT NULL,
    type TEXT NOT NULL,
    title TEXT NOT NULL,
    tags TEXT NOT NULL,
    importance DOUBLE PRECISION NOT NULL,
    confidence DOUBLE PRECISION NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    path TEXT NOT NULL,
    in_vault BIGINT NOT NULL,
    -- Whether its document is out of the present because the memory faded.
    archived BIGINT NOT NULL,
    gone_at BIGINT,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, graph_id, uuid),
    FOREIGN KEY (workspace_id, id) REFERENCES item (workspace_id, id),
    FOREIGN KEY (workspace_id, graph_id) REFERENCES graph (workspace_id, id)
);
CREATE INDEX memory_by_time ON memory (workspace_id, graph_id, updated);

CREATE TABLE edge (
    workspace_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    graph_id BIGINT NOT NULL,
    uuid TEXT NOT NULL,
    type TEXT NOT NULL,
    from_uuid TEXT NOT NULL,
    from_title TEXT NOT NULL,
    to_uuid TEXT NOT NULL,
    to_title TEXT NOT NULL,
    strength DOUBLE PRECISION NOT NULL,
    description TEXT NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    path TEXT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, graph_id, uuid),
    FOREIGN KEY (workspace_id, id) REFERENCES item (workspace_id, id),
    FOREIGN KEY (workspace_id, graph_id) REFERENCES graph (workspace_id, id)
);
CREATE INDEX edge_by_from ON edge (workspace_id, graph_id, from_uuid);
CREATE INDEX edge_by_to ON edge (workspace_id, graph_id, to_uuid);

-- A memory's sides of its relations, in the order of its front matter.
CREATE TABLE relation (
    workspace_id BIGINT NOT NULL,
    memory_id BIGINT NOT NULL,
    position BIGINT NOT NULL,
    target TEXT NOT NULL,
    type TEXT NOT NULL,
    direction TEXT NOT NULL CHECK (direction IN ('outgoing', 'incoming')),
    strength DOUBLE PRECISION,
    context TEXT,
    edge_uuid TEXT,
    PRIMARY KEY (workspace_id, memory_id, position),
    FOREIGN KEY (workspace_id, memory_id) REFERENCES memory (workspace_id, id)
);
CREATE INDEX relation_by_target ON relation (workspace_id, target);

-- What was seen of each file. A file that cannot be read has a problem, and perhaps a memory from when it could.
CREATE TABLE graph_file (
    workspace_id BIGINT NOT NULL,
    graph_id BIGINT NOT NULL,
    path TEXT NOT NULL,
    mtime_ns BIGINT NOT NULL,
    size BIGINT NOT NULL,
    hash TEXT NOT NULL,
    checked_at BIGINT NOT NULL,
    item_id BIGINT,
    problem TEXT,
    line BIGINT,
    PRIMARY KEY (workspace_id, graph_id, path),
    FOREIGN KEY (workspace_id, graph_id) REFERENCES graph (workspace_id, id),
    FOREIGN KEY (workspace_id, item_id) REFERENCES item (workspace_id, id)
);
CREATE INDEX graph_file_with_problem ON graph_file (workspace_id, graph_id) WHERE problem IS NOT NULL;

-- An operation on several files that was begun: whoever opens the graph next ends it.
CREATE TABLE graph_intent (
    workspace_id BIGINT NOT NULL,
    graph_id BIGINT NOT NULL,
    key TEXT NOT NULL,
    stage TEXT NOT NULL CHECK (stage IN ('files', 'git')),
    plan TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, graph_id, key),
    FOREIGN KEY (workspace_id, graph_id) REFERENCES graph (workspace_id, id)
);
