-- What is to come up when something is next spoken of.
-- The occasion and the text of an intention are in its document. It comes up once: in the exchange that is named.
CREATE TABLE intention (
    workspace_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'surfaced', 'dropped')),
    not_before BIGINT NOT NULL,
    -- NULL if it stays open.
    until BIGINT,
    surfaced_at BIGINT,
    exchange_id BIGINT,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, id) REFERENCES document (workspace_id, item_id),
    FOREIGN KEY (workspace_id, exchange_id) REFERENCES exchange (workspace_id, id)
);
CREATE INDEX intention_by_state ON intention (workspace_id, state, id);
CREATE INDEX intention_by_exchange ON intention (workspace_id, exchange_id);
