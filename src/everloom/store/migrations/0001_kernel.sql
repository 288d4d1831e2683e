-- What every faculty shares. Types are PostgreSQL's; SQLite reads BIGINT as INTEGER, DOUBLE PRECISION as REAL, HALFVEC as
-- BLOB (little-endian float16), and makes every table STRICT, those
-- marked "small" also WITHOUT ROWID: one b-tree instead of two, where rows are short. Lines between "-- only: ENGINE" and "-- end" belong to one engine.
-- Times are microseconds since 1970 in UTC. workspace_id leads every key, so that the tables can be distributed by it;
-- PostgreSQL guards each of them by row-level security.

CREATE TABLE workspace (
    id BIGINT PRIMARY KEY,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL UNIQUE,
    description TEXT NOT NULL,
    time_zone TEXT NOT NULL,
    created_at BIGINT NOT NULL
); -- small

-- only: sqlite
CREATE TABLE counter (
    name TEXT PRIMARY KEY,
    last BIGINT NOT NULL
); -- small
INSERT INTO counter VALUES ('item', 0), ('revision', 0);
-- end
-- only: postgresql
CREATE SEQUENCE item_counter;
CREATE SEQUENCE revision_counter;
-- end

-- Any id resolves to its kind here.
CREATE TABLE item (
    workspace_id BIGINT NOT NULL REFERENCES workspace (id),
    id BIGINT NOT NULL,
    kind TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id)
); -- small

CREATE TABLE session (
    workspace_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    label TEXT NOT NULL,
    model_tier TEXT,
    started_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, label),
    FOREIGN KEY (workspace_id, id) REFERENCES item (workspace_id, id)
); -- small

CREATE TABLE event (
    workspace_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    at BIGINT NOT NULL,
    operation TEXT NOT NULL,
    session_id BIGINT,
    detail TEXT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, id) REFERENCES item (workspace_id, id),
    FOREIGN KEY (workspace_id, session_id) REFERENCES session (workspace_id, id)
); -- small

-- The answer that a write gave, kept under the caller's idempotency key.
CREATE TABLE receipt (
    workspace_id BIGINT NOT NULL REFERENCES workspace (id),
    idempotency_key TEXT NOT NULL,
    operation TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    answer TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, idempotency_key)
); -- small

-- What search sees of an item. A retired document is out of the present and still answers "as of" an earlier time.
CREATE TABLE document (
    workspace_id BIGINT NOT NULL,
    item_id BIGINT NOT NULL,
    kind TEXT NOT NULL,
    title TEXT NOT NULL,
    text TEXT NOT NULL,
    context TEXT NOT NULL,
    labels TEXT NOT NULL,
    standing TEXT NOT NULL CHECK (standing IN ('evidence', 'synthesis')),
    confidence DOUBLE PRECISION,
    model_tier TEXT,
    session_id BIGINT,
    happened_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    retired_at BIGINT,
    retired_by BIGINT,
    -- The same text as stemmed words, in reading order: what the word index holds and what scores are computed from.
    words TEXT NOT NULL,
    context_words TEXT NOT NULL,
    -- The model whose vectors this document has; 0 for none yet, negative for a model that refused it.
    embedded_by BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, item_id),
    FOREIGN KEY (workspace_id, item_id) REFERENCES item (workspace_id, id),
    FOREIGN KEY (workspace_id, session_id) REFERENCES session (workspace_id, id)
);
CREATE INDEX document_by_embedding ON document (workspace_id, embedded_by, item_id);

-- A synthesis that already says what a document says.
CREATE TABLE cover (
    workspace_id BIGINT NOT NULL,
    item_id BIGINT NOT NULL,
    cover_id BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, item_id, cover_id),
    FOREIGN KEY (workspace_id, item_id) REFERENCES document (workspace_id, item_id),
    FOREIGN KEY (workspace_id, cover_id) REFERENCES document (workspace_id, item_id)
); -- small
CREATE INDEX cover_by_cover ON cover (workspace_id, cover_id);

-- Where an item comes from: the provenance chain, one step a row.
CREATE TABLE source (
    workspace_id BIGINT NOT NULL,
    item_id BIGINT NOT NULL,
    source_id BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, item_id, source_id),
    FOREIGN KEY (workspace_id, item_id) REFERENCES item (workspace_id, id),
    FOREIGN KEY (workspace_id, source_id) REFERENCES item (workspace_id, id)
); -- small
CREATE INDEX source_by_source ON source (workspace_id, source_id);

CREATE TABLE access (
    workspace_id BIGINT NOT NULL,
    item_id BIGINT NOT NULL,
    count BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    pinned BIGINT NOT NULL,
    useful BIGINT NOT NULL,
    questionable BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, item_id),
    FOREIGN KEY (workspace_id, item_id) REFERENCES item (workspace_id, id)
); -- small

CREATE TABLE signal (
    workspace_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    target_id BIGINT NOT NULL,
    verdict TEXT NOT NULL CHECK (verdict IN ('useful', 'questionable')),
    reason TEXT,
    session_id BIGINT,
    at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, id) REFERENCES item (workspace_id, id),
    FOREIGN KEY (workspace_id, target_id) REFERENCES item (workspace_id, id)
); -- small
CREATE INDEX signal_by_target ON signal (workspace_id, target_id);

-- How many documents of a workspace hold a word, and how long its documents are: what BM25 needs to know.
CREATE TABLE term (
    workspace_id BIGINT NOT NULL REFERENCES workspace (id),
    term TEXT NOT NULL,
    documents BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, term)
); -- small
CREATE TABLE tally (
    workspace_id BIGINT PRIMARY KEY REFERENCES workspace (id),
    documents BIGINT NOT NULL,
    words BIGINT NOT NULL,
    context_words BIGINT NOT NULL
); -- small

-- only: sqlite
-- The word index. Each word carries its workspace ("7.sail"; "7~sail" when retired), so that a search reads the
-- postings of one workspace only. The words themselves are in document: this table holds the index alone.
CREATE VIRTUAL TABLE words USING fts5 (
    text, context, content = '',
    tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* Co'"
);
-- end
-- only: postgresql
CREATE TABLE posting (
    workspace_id BIGINT NOT NULL,
    term TEXT NOT NULL,
    item_id BIGINT NOT NULL,
    live BIGINT NOT NULL,
    -- How much the term says about the document: saturating counts, the context at half weight.
    impact DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (workspace_id, term, item_id) INCLUDE (live, impact),
    FOREIGN KEY (workspace_id, item_id) REFERENCES document (workspace_id, item_id)
);
CREATE INDEX posting_by_item ON posting (workspace_id, item_id);
-- end

-- An angle from which texts are embedded; only models that follow instructions use more than the general one.
CREATE TABLE perspective (
    workspace_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    name TEXT NOT NULL,
    instruction TEXT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, name),
    FOREIGN KEY (workspace_id, id) REFERENCES item (workspace_id, id)
); -- small

CREATE TABLE model (
    id BIGINT PRIMARY KEY,
    name TEXT NOT NULL,
    dim BIGINT NOT NULL,
    UNIQUE (name, dim)
); -- small

-- Vectors are the truth; whatever is held in memory over them is derived. `revision` grows with every change of a row,
-- so that a reader loads only what changed since it last looked.
CREATE TABLE embedding (
    workspace_id BIGINT NOT NULL,
    model_id BIGINT NOT NULL REFERENCES model (id),
    perspective_id BIGINT NOT NULL,
    item_id BIGINT NOT NULL,
    vector HALFVEC NOT NULL,
    live BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, item_id, model_id, perspective_id),
    FOREIGN KEY (workspace_id, item_id) REFERENCES document (workspace_id, item_id),
    FOREIGN KEY (workspace_id, perspective_id) REFERENCES perspective (workspace_id, id)
); -- small
-- only: sqlite
CREATE INDEX embedding_by_revision ON embedding (workspace_id, model_id, revision);
-- end
-- only: postgresql
CREATE INDEX embedding_by_perspective ON embedding (workspace_id, model_id, perspective_id);
-- end

-- One worker at a time runs a task for a workspace; the token fences off a holder whose lease ran out.
CREATE TABLE lease (
    workspace_id BIGINT NOT NULL REFERENCES workspace (id),
    task TEXT NOT NULL,
    holder TEXT,
    token BIGINT NOT NULL,
    held_until BIGINT NOT NULL,
    failures BIGINT NOT NULL,
    not_before BIGINT NOT NULL,
    last_error TEXT,
    last_run_at BIGINT,
    last_report TEXT,
    PRIMARY KEY (workspace_id, task)
); -- small

-- What each call of a model cost. Dollars are kept as whole millionths.
CREATE TABLE usage (
    workspace_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    at BIGINT NOT NULL,
    model TEXT NOT NULL,
    role TEXT NOT NULL,
    purpose TEXT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cache_read_tokens BIGINT NOT NULL,
    cache_write_tokens BIGINT NOT NULL,
    micro_dollars BIGINT,
    milliseconds BIGINT NOT NULL,
    error TEXT,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, id) REFERENCES item (workspace_id, id)
); -- small
CREATE INDEX usage_by_time ON usage (workspace_id, at);
