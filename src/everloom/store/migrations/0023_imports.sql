-- What was taken in from elsewhere. A source is a place that somebody named: a file or a folder. Its words are only in
-- `place`, which is emptied when they are forgotten; it is found again by `place_key`, a hash.
CREATE TABLE import_source (
    workspace_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    format TEXT NOT NULL,
    place TEXT NOT NULL,
    place_key TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    changed_at BIGINT NOT NULL,
    undone_at BIGINT,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, place_key),
    FOREIGN KEY (workspace_id, id) REFERENCES item (workspace_id, id)
); -- small

-- How far a file was read, and by what it is recognised as the same file, only longer. Written in the transaction that
-- stores what was read: after a crash, reading goes on where the last one ended.
CREATE TABLE import_part (
    workspace_id BIGINT NOT NULL,
    part_key TEXT NOT NULL,
    position BIGINT NOT NULL,
    size BIGINT NOT NULL,
    stamp BIGINT NOT NULL,
    head TEXT NOT NULL,
    -- 1 once it was read to its end, as far as it then went.
    is_done BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, part_key),
    FOREIGN KEY (workspace_id) REFERENCES workspace (id)
); -- small

-- Which item a message, a note or a fact of another program became, by the hash of its name there. The item may have
-- been forgotten since; then its tombstone decides whether it may come back. `is_own` is 0 for what was there before.
CREATE TABLE import_item (
    workspace_id BIGINT NOT NULL,
    record_key TEXT NOT NULL,
    item_id BIGINT NOT NULL,
    source_id BIGINT NOT NULL,
    part_key TEXT NOT NULL,
    is_own BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, record_key),
    FOREIGN KEY (workspace_id, source_id) REFERENCES import_source (workspace_id, id)
); -- small
CREATE INDEX import_item_by_source ON import_item (workspace_id, source_id, item_id);
CREATE INDEX import_item_by_part ON import_item (workspace_id, part_key);

-- What surrounds a document is kept with few of them: forgetting looks there for every text that goes.
CREATE INDEX document_with_context ON document (workspace_id, item_id) WHERE context <> '';
