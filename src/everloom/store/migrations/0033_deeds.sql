-- What tools have done in turns that are not answered yet.
-- A deed is begun before its tool runs, and ended with the tool's answer. A turn that is tried again finds it by what it
-- answers, and does not do it again. It goes when its turn is written.
CREATE TABLE deed (
    workspace_id BIGINT NOT NULL REFERENCES workspace (id),
    id BIGINT NOT NULL,
    tool TEXT NOT NULL,
    input_hash TEXT NOT NULL,
    input TEXT NOT NULL,
    -- The ids of the messages that the turn was to answer, as a JSON list.
    messages TEXT NOT NULL,
    began_at BIGINT NOT NULL,
    -- NULL while nobody knows whether it was done.
    ended_at BIGINT,
    answer TEXT NOT NULL,
    has_failed BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id)
);
