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
-- The write lock of a workspace: whoever has locked its row may write. Rows are locked and never changed, so that those who
-- wait stand in one line; behind a row that changes they would all look for the newest version of it.
CREATE TABLE write_lock (
    workspace_id BIGINT PRIMARY KEY
);
-- The last id and the last revision that were given in a workspace. Whoever holds its write lock reads them and gives more; the
-- row of workspace 0 gives ids to workspaces.
CREATE TABLE workspace_counter (
    workspace_id BIGINT PRIMARY KEY,
    item BIGINT NOT NULL,
    revision BIGINT NOT NULL
) WITH (fillfactor = 50);
-- end

-- Which store this is, in one row: `id` names its files in the data directory, and two stores never share one. A copy of
-- all rows into another store leaves that store's own id in place.
CREATE TABLE store_identity (
    id TEXT PRIMARY KEY
); -- small
-- only: sqlite
INSERT INTO store_identity VALUES (lower(hex(randomblob(8))));
-- end
-- only: postgresql
INSERT INTO store_identity VALUES (substr(replace(gen_random_uuid()::text, '-', ''), 17));
-- end

-- Whose messages a workspace takes: `sender` is another workspace, by its id, so that a name that is given away takes no
-- permission along. Ids are never used twice: the grant of a sender that was removed means nobody.
CREATE TABLE party_grant (
    workspace_id BIGINT NOT NULL REFERENCES workspace (id),
    sender BIGINT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, sender)
); -- small

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
-- only: sqlite
CREATE INDEX document_by_session ON document (workspace_id, session_id, item_id) WHERE session_id IS NOT NULL;
-- end
-- only: postgresql
CREATE INDEX document_by_session ON document (workspace_id, session_id, item_id);
-- end

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
    -- By how much used recalls have put off the fading of a memory since it was last read, in microseconds.
    lent BIGINT NOT NULL DEFAULT 0,
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
-- A write would change a page of `term` and make a segment of `words` for every text. The newest documents, those after
-- `counted_through`, wait: they are read from their rows instead, and added to all three many at a time.
ALTER TABLE tally ADD COLUMN counted_through BIGINT NOT NULL DEFAULT 0;
-- end

-- only: sqlite
-- The word index. Each word carries its workspace ("7.sail"; "7~sail" when retired), so that a search reads the
-- postings of one workspace only. The words themselves are in document: this table holds the index alone.
CREATE VIRTUAL TABLE words USING fts5 (
    text, context, content = '',
    tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* Co'"
);
-- end
-- only: postgresql
-- The word index (store/postings.py). A posting says that a document holds a word; those of a word's newest documents
-- are in its own row, those of documents up to `through` in parts, each of which owns the ids from its `low` on.
ALTER TABLE term ADD COLUMN through BIGINT NOT NULL DEFAULT 0;
ALTER TABLE term ADD COLUMN postings BYTEA NOT NULL DEFAULT '';
-- Rows grow; with some room left in its page, a row can be written anew there, and no index changes.
ALTER TABLE term SET (fillfactor = 80);
CREATE TABLE posting (
    workspace_id BIGINT NOT NULL REFERENCES workspace (id),
    term TEXT NOT NULL,
    low BIGINT NOT NULL,
    postings BYTEA NOT NULL,
    PRIMARY KEY (workspace_id, term, low)
);
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

-- Work that somebody started and does not wait for. `changed` grows with every change of any job of a workspace, in commit
-- order: whoever follows them goes on after the last one seen. A job whose holder has died is gone.
CREATE TABLE job (
    workspace_id BIGINT NOT NULL REFERENCES workspace (id),
    id BIGINT NOT NULL,
    work TEXT NOT NULL,
    state TEXT NOT NULL,
    holder TEXT NOT NULL,
    held_until BIGINT NOT NULL,
    stop_asked BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    changed_at BIGINT NOT NULL,
    ended_at BIGINT,
    changed BIGINT NOT NULL,
    done BIGINT NOT NULL,
    due BIGINT NOT NULL,
    task TEXT,
    report TEXT,
    error TEXT,
    PRIMARY KEY (workspace_id, id)
); -- small
CREATE INDEX job_by_change ON job (workspace_id, changed);

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
-- What is known: subjects, observations, understandings. Texts, times and sessions of an item are in document; these
-- tables hold what only this faculty knows. Ids are the clock: a column `…_through` means "everything up to this id".

-- A synthesis. Revising writes a new row; only the note of a session is rewritten in place.
CREATE TABLE understanding (
    workspace_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN (
        'single_subject', 'relationship', 'structural', 'soul', 'protocol', 'orientation', 'session')),
    generation BIGINT NOT NULL,
    version BIGINT NOT NULL,
    seen_through_id BIGINT NOT NULL,
    superseded_by BIGINT,
    reason TEXT,
    -- The ids of its subjects, sorted and joined by commas.
    subject_set TEXT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, id) REFERENCES document (workspace_id, item_id),
    -- Checked at the end, because a copy reads the older row first.
    FOREIGN KEY (workspace_id, superseded_by) REFERENCES understanding (workspace_id, id)
        DEFERRABLE INITIALLY DEFERRED
);
CREATE INDEX understanding_by_successor ON understanding (workspace_id, superseded_by);
CREATE INDEX understanding_active ON understanding (workspace_id, subject_set, kind) WHERE superseded_by IS NULL;

-- A stipulated, named region. It waits for consolidation while it was observed through a later id than it is settled.
CREATE TABLE subject (
    workspace_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    name TEXT NOT NULL,
    summary TEXT,
    version BIGINT NOT NULL,
    single_understanding_id BIGINT,
    structural_understanding_id BIGINT,
    observation_count BIGINT NOT NULL,
    last_observed_at BIGINT,
    observed_through BIGINT NOT NULL,
    reviewed_through BIGINT NOT NULL,
    -- The later of what was reviewed and what the subject's understanding has seen.
    settled_through BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, id) REFERENCES item (workspace_id, id),
    FOREIGN KEY (workspace_id, single_understanding_id) REFERENCES understanding (workspace_id, id),
    FOREIGN KEY (workspace_id, structural_understanding_id) REFERENCES understanding (workspace_id, id)
);
CREATE INDEX subject_waiting ON subject (workspace_id, id, observed_through, settled_through)
    WHERE observed_through > settled_through;
CREATE INDEX subject_by_observed ON subject (workspace_id, observed_through, id);

-- Names and aliases share one key space.
CREATE TABLE subject_name (
    workspace_id BIGINT NOT NULL,
    name_key TEXT NOT NULL,
    name TEXT NOT NULL,
    subject_id BIGINT NOT NULL,
    is_alias BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, name_key),
    FOREIGN KEY (workspace_id, subject_id) REFERENCES subject (workspace_id, id)
);
CREATE INDEX subject_name_by_subject ON subject_name (workspace_id, subject_id);

CREATE TABLE subject_tag (
    workspace_id BIGINT NOT NULL,
    tag_key TEXT NOT NULL,
    subject_id BIGINT NOT NULL,
    tag TEXT NOT NULL,
    position BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, tag_key, subject_id),
    FOREIGN KEY (workspace_id, subject_id) REFERENCES subject (workspace_id, id)
);
CREATE INDEX subject_tag_by_subject ON subject_tag (workspace_id, subject_id);

-- Immutable evidence.
CREATE TABLE observation (
    workspace_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    content_hash TEXT NOT NULL,
    kind TEXT,
    generation BIGINT NOT NULL,
    session_id BIGINT,
    subject_set TEXT NOT NULL,
    -- The id at which it was last tagged.
    tagged_through BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, content_hash),
    FOREIGN KEY (workspace_id, id) REFERENCES document (workspace_id, item_id),
    FOREIGN KEY (workspace_id, session_id) REFERENCES session (workspace_id, id)
);
CREATE INDEX observation_by_session ON observation (workspace_id, session_id, id);
CREATE INDEX observation_by_subjects ON observation (workspace_id, subject_set, id);

-- `since_id` is the id at which the tag was put: an old observation can be new to a subject.
CREATE TABLE observation_subject (
    workspace_id BIGINT NOT NULL,
    observation_id BIGINT NOT NULL,
    subject_id BIGINT NOT NULL,
    since_id BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, observation_id, subject_id),
    FOREIGN KEY (workspace_id, observation_id) REFERENCES observation (workspace_id, id),
    FOREIGN KEY (workspace_id, subject_id) REFERENCES subject (workspace_id, id)
); -- small
CREATE INDEX observation_subject_by_subject ON observation_subject (workspace_id, subject_id, since_id, observation_id);

CREATE TABLE understanding_subject (
    workspace_id BIGINT NOT NULL,
    understanding_id BIGINT NOT NULL,
    subject_id BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, understanding_id, subject_id),
    FOREIGN KEY (workspace_id, understanding_id) REFERENCES understanding (workspace_id, id),
    FOREIGN KEY (workspace_id, subject_id) REFERENCES subject (workspace_id, id)
);
CREATE INDEX understanding_subject_by_subject ON understanding_subject (workspace_id, subject_id, understanding_id);

-- Evidence that was linked to an understanding after it was written: read first when it is next revised.
-- What an understanding rests on is in source.
CREATE TABLE linked (
    workspace_id BIGINT NOT NULL,
    understanding_id BIGINT NOT NULL,
    observation_id BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, understanding_id, observation_id),
    FOREIGN KEY (workspace_id, understanding_id) REFERENCES understanding (workspace_id, id),
    FOREIGN KEY (workspace_id, observation_id) REFERENCES observation (workspace_id, id)
);
CREATE INDEX linked_by_observation ON linked (workspace_id, observation_id);

-- What two subjects share; the one with the smaller id comes first. It waits like a subject does.
CREATE TABLE intersection (
    workspace_id BIGINT NOT NULL,
    subject_a BIGINT NOT NULL,
    subject_b BIGINT NOT NULL,
    observation_count BIGINT NOT NULL,
    understanding_id BIGINT,
    changed_through BIGINT NOT NULL,
    reviewed_through BIGINT NOT NULL,
    settled_through BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, subject_a, subject_b),
    CHECK (subject_a < subject_b),
    FOREIGN KEY (workspace_id, subject_a) REFERENCES subject (workspace_id, id),
    FOREIGN KEY (workspace_id, subject_b) REFERENCES subject (workspace_id, id),
    FOREIGN KEY (workspace_id, understanding_id) REFERENCES understanding (workspace_id, id)
);
CREATE INDEX intersection_by_second ON intersection (workspace_id, subject_b);
CREATE INDEX intersection_waiting ON intersection (workspace_id, subject_a, subject_b, changed_through, settled_through)
    WHERE changed_through > settled_through;
CREATE INDEX intersection_unwritten ON intersection (workspace_id, observation_count)
    WHERE understanding_id IS NULL;

-- What this faculty knows of a session: its heartbeat, its last call, its note.
CREATE TABLE session_state (
    workspace_id BIGINT NOT NULL,
    session_id BIGINT NOT NULL,
    token BIGINT,
    brought_at BIGINT,
    called_through BIGINT NOT NULL,
    understanding_id BIGINT,
    observation_count BIGINT NOT NULL,
    observed_through BIGINT NOT NULL,
    settled_through BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, session_id),
    FOREIGN KEY (workspace_id, session_id) REFERENCES session (workspace_id, id),
    FOREIGN KEY (workspace_id, understanding_id) REFERENCES understanding (workspace_id, id)
);
CREATE INDEX session_state_waiting ON session_state (workspace_id, session_id) WHERE observed_through > settled_through;

-- What a session was shown.
CREATE TABLE seen (
    workspace_id BIGINT NOT NULL,
    session_id BIGINT NOT NULL,
    item_id BIGINT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, session_id, item_id),
    FOREIGN KEY (workspace_id, session_id) REFERENCES session (workspace_id, id),
    FOREIGN KEY (workspace_id, item_id) REFERENCES item (workspace_id, id)
);
CREATE INDEX seen_by_item ON seen (workspace_id, item_id);

-- The documents that a workspace points at, and where its consolidation stands. `begun_through` is set while a pass is open.
CREATE TABLE semantic_workspace (
    workspace_id BIGINT PRIMARY KEY REFERENCES workspace (id),
    soul_id BIGINT,
    protocol_id BIGINT,
    orientation_id BIGINT,
    current_generation BIGINT NOT NULL,
    begun_through BIGINT,
    consolidated_through BIGINT NOT NULL,
    last_consolidated_at BIGINT,
    FOREIGN KEY (workspace_id, soul_id) REFERENCES understanding (workspace_id, id),
    FOREIGN KEY (workspace_id, protocol_id) REFERENCES understanding (workspace_id, id),
    FOREIGN KEY (workspace_id, orientation_id) REFERENCES understanding (workspace_id, id)
);
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
-- What happened: scenes, the clusters they gather in, the notes that wait to become scenes, and what patrols did.
-- Texts that search sees are in document, pins in access; these tables hold what only this faculty knows.

-- One walk through the memory. It works on the notes with smaller ids than its own; at most one is open.
CREATE TABLE patrol (
    workspace_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    number BIGINT NOT NULL,
    reason TEXT NOT NULL CHECK (reason IN ('asked', 'pending', 'schedule')),
    began_at BIGINT NOT NULL,
    ended_at BIGINT,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, number),
    FOREIGN KEY (workspace_id, id) REFERENCES item (workspace_id, id)
); -- small
CREATE UNIQUE INDEX patrol_open ON patrol (workspace_id) WHERE ended_at IS NULL;

-- A step that is done, written in the same transaction as what it changed: a patrol that was killed goes on after it.
CREATE TABLE patrol_step (
    workspace_id BIGINT NOT NULL,
    patrol_id BIGINT NOT NULL,
    step TEXT NOT NULL,
    position BIGINT NOT NULL,
    at BIGINT NOT NULL,
    milliseconds BIGINT NOT NULL,
    report TEXT NOT NULL,
    PRIMARY KEY (workspace_id, patrol_id, step),
    FOREIGN KEY (workspace_id, patrol_id) REFERENCES patrol (workspace_id, id)
); -- small

-- A root is its own parent. The vector is the mean of the active scenes' vectors (float32, little-endian) of one model.
CREATE TABLE cluster (
    workspace_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    parent_id BIGINT NOT NULL,
    is_root BIGINT NOT NULL,
    name TEXT NOT NULL,
    digest TEXT NOT NULL,
    vector BYTEA,
    vector_model BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, id) REFERENCES item (workspace_id, id),
    -- Checked at the end, because a copy may read the child first.
    FOREIGN KEY (workspace_id, parent_id) REFERENCES cluster (workspace_id, id) DEFERRABLE INITIALLY DEFERRED
);
CREATE INDEX cluster_by_parent ON cluster (workspace_id, parent_id);

-- What a workspace is as a Being: its two roots, and what it told itself after its last patrol.
CREATE TABLE being (
    workspace_id BIGINT PRIMARY KEY REFERENCES workspace (id),
    business_id BIGINT NOT NULL,
    private_id BIGINT NOT NULL,
    think_md TEXT NOT NULL,
    think_at BIGINT,
    FOREIGN KEY (workspace_id, business_id) REFERENCES cluster (workspace_id, id),
    FOREIGN KEY (workspace_id, private_id) REFERENCES cluster (workspace_id, id)
); -- small

-- A scene node: what happened and how it felt. `body` is JSON: actors, when, setting, dialogue, sensory. `haystack` is all
-- its text, folded, for finding literal strings. The emotion has six numbers from -1 to 1, or none.
CREATE TABLE scene (
    workspace_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    action TEXT NOT NULL,
    feeling TEXT NOT NULL,
    themes TEXT NOT NULL,
    body TEXT NOT NULL,
    haystack TEXT NOT NULL,
    valence DOUBLE PRECISION,
    arousal DOUBLE PRECISION,
    dominance DOUBLE PRECISION,
    safety DOUBLE PRECISION,
    novelty DOUBLE PRECISION,
    trust DOUBLE PRECISION,
    patrol_id BIGINT,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, id) REFERENCES document (workspace_id, item_id),
    FOREIGN KEY (workspace_id, patrol_id) REFERENCES patrol (workspace_id, id)
);
CREATE INDEX scene_by_patrol ON scene (workspace_id, patrol_id);

-- The part of a scene node that patrols change: apart from its texts, so that ageing all of them writes little.
-- `lifespan` follows from the importance: how many patrols, less reactivations, it takes to be dying. Not "small": SQLite
-- would then read a cluster's scenes by walking through all of them.
CREATE TABLE scene_life (
    workspace_id BIGINT NOT NULL,
    scene_id BIGINT NOT NULL,
    cluster_id BIGINT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('active', 'dying', 'dead')),
    importance DOUBLE PRECISION NOT NULL CHECK (importance BETWEEN 0 AND 1),
    lifespan BIGINT NOT NULL,
    session_count BIGINT NOT NULL,
    reactivation_count BIGINT NOT NULL,
    last_activated BIGINT NOT NULL,
    fresh BIGINT NOT NULL,
    -- The number of the patrol that found it dying.
    dying_since BIGINT,
    -- Faded for its age; absorbed by a scene that it was merged into; split into others; or undone, if what made it was.
    death TEXT CHECK (death IN ('faded', 'absorbed', 'split', 'undone')),
    absorbed_into BIGINT,
    -- Whether somebody chose its cluster: patrols leave it there.
    placed BIGINT NOT NULL DEFAULT 0,
    -- The scene that it is a part of, which was split.
    split_from BIGINT,
    PRIMARY KEY (workspace_id, scene_id),
    CHECK ((death IS NOT NULL) = (status = 'dead')),
    CHECK ((absorbed_into IS NOT NULL) = (death IS NOT NULL AND death = 'absorbed')),
    FOREIGN KEY (workspace_id, scene_id) REFERENCES scene (workspace_id, id),
    FOREIGN KEY (workspace_id, cluster_id) REFERENCES cluster (workspace_id, id),
    FOREIGN KEY (workspace_id, absorbed_into) REFERENCES scene (workspace_id, id),
    FOREIGN KEY (workspace_id, split_from) REFERENCES scene (workspace_id, id)
);
-- only: postgresql
-- Room for the next version of a row beside it: ageing all scenes then touches no index.
ALTER TABLE scene_life SET (fillfactor = 50);
-- end
CREATE INDEX scene_life_by_cluster ON scene_life (workspace_id, cluster_id, status);
CREATE INDEX scene_life_dying ON scene_life (workspace_id, scene_id) WHERE status = 'dying';
CREATE INDEX scene_life_fresh ON scene_life (workspace_id, scene_id) WHERE fresh = 1;
CREATE INDEX scene_life_recent ON scene_life (workspace_id, last_activated) WHERE status <> 'dead';

-- What was noted down. A scene waits here for a patrol and stays as its scene node's source; `problem` says why it could
-- not be read as a scene.
CREATE TABLE note (
    workspace_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('scene', 'note', 'someday')),
    content TEXT NOT NULL,
    problem TEXT,
    session_id BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    patrol_id BIGINT,
    scene_id BIGINT,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, id) REFERENCES item (workspace_id, id),
    FOREIGN KEY (workspace_id, session_id) REFERENCES session (workspace_id, id),
    FOREIGN KEY (workspace_id, patrol_id) REFERENCES patrol (workspace_id, id),
    FOREIGN KEY (workspace_id, scene_id) REFERENCES scene (workspace_id, id)
);
CREATE INDEX note_open ON note (workspace_id, kind, id) WHERE patrol_id IS NULL;
CREATE INDEX note_by_patrol ON note (workspace_id, patrol_id);

-- What a Being keeps under a key: preferences, knowledge, relationships, tools, map, diary, rules, party messages.
-- `detail` is JSON: what only some of them have.
CREATE TABLE entry (
    workspace_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    target TEXT NOT NULL CHECK (target IN ('preferences', 'knowledge', 'relationship', 'partner_tools', 'partner_map',
        'diary', 'partner_rules', 'party_message')),
    entry_key TEXT NOT NULL,
    title TEXT NOT NULL,
    content TEXT NOT NULL,
    detail TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, target, entry_key),
    FOREIGN KEY (workspace_id, id) REFERENCES document (workspace_id, item_id)
);

-- The snapshot that a session was last given, and since when it reads like that.
CREATE TABLE session_snapshot (
    workspace_id BIGINT NOT NULL REFERENCES workspace (id),
    session_label TEXT NOT NULL,
    content TEXT NOT NULL,
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, session_label)
);

-- What `calibrate` found out about an embedder; cosines, the same for every workspace.
CREATE TABLE calibration (
    model TEXT PRIMARY KEY,
    recall DOUBLE PRECISION NOT NULL,
    cluster DOUBLE PRECISION NOT NULL,
    detail TEXT NOT NULL,
    at BIGINT NOT NULL
); -- small
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
    -- What pages, reflections and the record of use were last made from, as JSON: a hash for each.
    made_from TEXT NOT NULL DEFAULT '{}',
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
-- The conversation: what was said on every channel, what the model sees of it, and the notes beside it.

-- An exchange: one turn that was answered, or one time the agent spoke first. Written whole or not at all; it is what
-- archive, facts and usage refer to. `facts_state` is the work that waits behind it.
CREATE TABLE exchange (
    workspace_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    cause TEXT NOT NULL CHECK (cause IN ('message', 'heartbeat', 'schedule')),
    began_at BIGINT NOT NULL,
    ended_at BIGINT NOT NULL,
    model TEXT NOT NULL,
    rounds BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cache_read_tokens BIGINT NOT NULL,
    cache_write_tokens BIGINT NOT NULL,
    micro_dollars BIGINT,
    -- How full the model's window was at the end, and how much it holds.
    context_tokens BIGINT NOT NULL,
    context_window BIGINT NOT NULL,
    facts_state TEXT NOT NULL CHECK (facts_state IN ('waiting', 'done', 'skipped')),
    facts_failures BIGINT NOT NULL,
    -- Not tried again before this time, after a failure.
    facts_not_before BIGINT,
    withdrawn_at BIGINT,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, id) REFERENCES item (workspace_id, id)
); -- small
CREATE INDEX exchange_by_facts ON exchange (workspace_id, facts_state, id);

-- The log of record: every message, both ways, never capped. `sender_key` is the channel's own id of a message, so that
-- one that arrives twice is kept once. A message in waits until an exchange answers it; a message out waits until its
-- channel delivered it, and is `uncertain` when nobody can tell whether it was.
CREATE TABLE message (
    workspace_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    direction TEXT NOT NULL CHECK (direction IN ('in', 'out')),
    channel TEXT NOT NULL,
    address TEXT NOT NULL,
    sender_key TEXT,
    text TEXT NOT NULL,
    -- The same text folded, so that both engines find the same words in it.
    haystack TEXT NOT NULL,
    at BIGINT NOT NULL,
    state TEXT NOT NULL CHECK (state IN (
        'waiting', 'answered', 'refused', 'withdrawn', 'unsent', 'sending', 'sent', 'uncertain', 'undeliverable'
    )),
    is_whole BIGINT NOT NULL,
    exchange_id BIGINT,
    attempts BIGINT NOT NULL,
    not_before BIGINT NOT NULL,
    last_error TEXT,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, channel, sender_key),
    FOREIGN KEY (workspace_id, id) REFERENCES item (workspace_id, id),
    FOREIGN KEY (workspace_id, exchange_id) REFERENCES exchange (workspace_id, id)
); -- small
CREATE INDEX message_by_state ON message (workspace_id, state, id);
CREATE INDEX message_by_exchange ON message (workspace_id, exchange_id);

-- What the model sees, turn by turn. Nothing is ever taken out: the working array is the entries from the last
-- compaction on. `blocks` is JSON; reasoning is not in it.
CREATE TABLE array_entry (
    workspace_id BIGINT NOT NULL,
    position BIGINT NOT NULL,
    exchange_id BIGINT,
    role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
    blocks TEXT NOT NULL,
    at BIGINT NOT NULL,
    withdrawn_at BIGINT,
    PRIMARY KEY (workspace_id, position),
    FOREIGN KEY (workspace_id, exchange_id) REFERENCES exchange (workspace_id, id)
); -- small

-- A compaction: the entry at `position` holds its block, and the array begins there.
CREATE TABLE compaction (
    workspace_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    position BIGINT NOT NULL,
    at BIGINT NOT NULL,
    way TEXT NOT NULL CHECK (way IN ('server', 'model', 'outline')),
    model TEXT NOT NULL,
    tokens_before BIGINT NOT NULL,
    tokens_after BIGINT NOT NULL,
    micro_dollars BIGINT,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, id) REFERENCES item (workspace_id, id),
    FOREIGN KEY (workspace_id, position) REFERENCES array_entry (workspace_id, position)
); -- small

-- A note: a file that the person and the agent share. `body_hash` tells what was last known of the file (empty: there was
-- none), `next_hash` what is on its way into it; a note without a file is one that was removed.
CREATE TABLE mind_note (
    workspace_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    name TEXT NOT NULL,
    body_hash TEXT NOT NULL,
    next_hash TEXT,
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, name),
    FOREIGN KEY (workspace_id, id) REFERENCES item (workspace_id, id)
); -- small
CREATE TABLE mind_note_version (
    workspace_id BIGINT NOT NULL,
    note_id BIGINT NOT NULL,
    number BIGINT NOT NULL,
    body TEXT NOT NULL,
    author TEXT NOT NULL CHECK (author IN ('agent', 'person')),
    at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, note_id, number),
    FOREIGN KEY (workspace_id, note_id) REFERENCES mind_note (workspace_id, id)
);

-- A message that the agent will send at a time; with `every`, again and again.
CREATE TABLE scheduled (
    workspace_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    text TEXT NOT NULL,
    channel TEXT NOT NULL,
    address TEXT NOT NULL,
    due_at BIGINT NOT NULL,
    every TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'sent', 'cancelled')),
    created_at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, id) REFERENCES item (workspace_id, id)
); -- small
CREATE INDEX scheduled_by_due ON scheduled (workspace_id, state, due_at);

-- Each time the agent wondered whether to speak first, and why it did or did not.
CREATE TABLE heartbeat (
    workspace_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    at BIGINT NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('sent', 'silent', 'suppressed', 'failed')),
    reason TEXT NOT NULL,
    exchange_id BIGINT,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, id) REFERENCES item (workspace_id, id),
    FOREIGN KEY (workspace_id, exchange_id) REFERENCES exchange (workspace_id, id)
); -- small

-- An observation that no longer holds. It stays as evidence of what was once so; `superseded_by` is what holds instead,
-- where something does.
ALTER TABLE observation ADD COLUMN superseded_at BIGINT;
ALTER TABLE observation ADD COLUMN superseded_by BIGINT;
-- What a document also tells, found by its words alone. `context`, what surrounds a document, is part of its vector, too;
-- a scene's setting and its dialogue are the scene's own.
ALTER TABLE document ADD COLUMN details TEXT NOT NULL DEFAULT '';
UPDATE document SET details = context, context = '' WHERE kind = 'scene';
-- How often in a row a model refused to answer a message: a count, where it used to be read out of the error's words.
ALTER TABLE message ADD COLUMN refusals BIGINT NOT NULL DEFAULT 0;
-- How far a session has read the unseen observations of a set of subjects, during one pass of consolidation.
CREATE TABLE reading (
    workspace_id BIGINT NOT NULL,
    session_id BIGINT NOT NULL,
    -- The ids of the subjects, sorted and joined by commas.
    subject_set TEXT NOT NULL,
    through_id BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, session_id, subject_set),
    FOREIGN KEY (workspace_id, session_id) REFERENCES session (workspace_id, id)
); -- small

-- 1 once an understanding cites an observation, or somebody dismissed it: until then the report lists it.
ALTER TABLE observation ADD COLUMN placed BIGINT NOT NULL DEFAULT 0;
UPDATE observation SET placed = 1 WHERE EXISTS (
    SELECT 1 FROM source AS e JOIN understanding AS u ON u.workspace_id = e.workspace_id AND u.id = e.item_id
    WHERE e.workspace_id = observation.workspace_id AND e.source_id = observation.id AND u.superseded_by IS NULL);
CREATE INDEX observation_unplaced ON observation (workspace_id, id) WHERE placed = 0;

-- The id at which the last pass was finished: what was written up to there is no news.
ALTER TABLE semantic_workspace ADD COLUMN finished_through BIGINT NOT NULL DEFAULT 0;
UPDATE semantic_workspace SET finished_through = consolidated_through;

-- Documents up to this id have words by older rules, and are waiting to be indexed again. Whoever changes the rules adds a
-- migration with the same update.
ALTER TABLE workspace ADD COLUMN reword_through BIGINT NOT NULL DEFAULT 0;
UPDATE workspace SET reword_through = COALESCE(
    (SELECT MAX(item_id) FROM document WHERE document.workspace_id = workspace.id), 0);

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

-- Changes whenever the store is migrated or restored. A process that began with another one refuses to go on.
ALTER TABLE store_identity ADD COLUMN incarnation TEXT NOT NULL DEFAULT '';
-- only: postgresql
-- Ids of workspaces that have no counter yet begin above this. It is at least as high as the ids of workspaces that were
-- removed: one of the same name must not give them again.
ALTER TABLE store_identity ADD COLUMN ids_above BIGINT NOT NULL DEFAULT 0;
-- end

-- A checksum of what cannot be restored from anything else in the row: see store/checksums.py. The program that migrates
-- computes those that are missing; a migration that changes covered columns sets them to NULL.
ALTER TABLE workspace ADD COLUMN checksum BIGINT;
ALTER TABLE item ADD COLUMN checksum BIGINT;
ALTER TABLE session ADD COLUMN checksum BIGINT;
ALTER TABLE event ADD COLUMN checksum BIGINT;
ALTER TABLE receipt ADD COLUMN checksum BIGINT;
ALTER TABLE signal ADD COLUMN checksum BIGINT;
ALTER TABLE perspective ADD COLUMN checksum BIGINT;
ALTER TABLE document ADD COLUMN checksum BIGINT;
ALTER TABLE embedding ADD COLUMN checksum BIGINT;
ALTER TABLE understanding ADD COLUMN checksum BIGINT;
ALTER TABLE subject ADD COLUMN checksum BIGINT;
ALTER TABLE subject_name ADD COLUMN checksum BIGINT;
ALTER TABLE subject_tag ADD COLUMN checksum BIGINT;
ALTER TABLE being ADD COLUMN checksum BIGINT;
ALTER TABLE scene ADD COLUMN checksum BIGINT;
ALTER TABLE note ADD COLUMN checksum BIGINT;
ALTER TABLE entry ADD COLUMN checksum BIGINT;
ALTER TABLE message ADD COLUMN checksum BIGINT;
ALTER TABLE array_entry ADD COLUMN checksum BIGINT;
ALTER TABLE mind_note_version ADD COLUMN checksum BIGINT;
ALTER TABLE scheduled ADD COLUMN checksum BIGINT;

-- Where a document comes from ("person", "web:example.org"), and how much it is to be trusted: the rank of its least
-- trusted source, 0 for a person to 4 for the web. Null for what was stored before this was recorded.
ALTER TABLE document ADD COLUMN origin TEXT;
ALTER TABLE document ADD COLUMN trust BIGINT;
-- A scene's note becomes a document only once a patrol has made it a scene.
ALTER TABLE note ADD COLUMN origin TEXT;

-- Writes that wait for a person's approval: the call as it was made, and later what was decided. Nothing of it is in any
-- other table before that; an approved call is made then, so that ids stay clocks.
CREATE TABLE held (
    workspace_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    origin TEXT NOT NULL,
    call TEXT NOT NULL,
    -- The arguments of the call as JSON, their hash, and what a person reads to decide.
    arguments TEXT NOT NULL,
    digest TEXT NOT NULL,
    text TEXT NOT NULL,
    session TEXT,
    model_tier TEXT,
    at BIGINT NOT NULL,
    decision TEXT CHECK (decision IN ('approved', 'rejected')),
    decided_at BIGINT,
    decided_by TEXT,
    reason TEXT,
    checksum BIGINT,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, id) REFERENCES item (workspace_id, id)
);
CREATE INDEX held_waiting ON held (workspace_id, id) WHERE decision IS NULL;
CREATE INDEX held_by_digest ON held (workspace_id, digest);

-- What refers to a row, found when that row goes: forgetting one thing reads what it touches, not the workspace. An engine
-- that deletes a row looks for what refers to it, too. Few rows refer to anything by these columns, the others cost nothing.
CREATE INDEX document_by_replacement ON document (workspace_id, retired_by) WHERE retired_by IS NOT NULL;
CREATE INDEX observation_by_replacement ON observation (workspace_id, superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX subject_by_single ON subject (workspace_id, single_understanding_id)
    WHERE single_understanding_id IS NOT NULL;
CREATE INDEX subject_by_structural ON subject (workspace_id, structural_understanding_id)
    WHERE structural_understanding_id IS NOT NULL;
CREATE INDEX intersection_by_understanding ON intersection (workspace_id, understanding_id)
    WHERE understanding_id IS NOT NULL;
CREATE INDEX session_state_by_understanding ON session_state (workspace_id, understanding_id)
    WHERE understanding_id IS NOT NULL;
CREATE INDEX scene_life_by_absorber ON scene_life (workspace_id, absorbed_into) WHERE absorbed_into IS NOT NULL;
CREATE INDEX note_by_scene ON note (workspace_id, scene_id) WHERE scene_id IS NOT NULL;
CREATE INDEX graph_file_by_item ON graph_file (workspace_id, item_id) WHERE item_id IS NOT NULL;
CREATE INDEX array_entry_by_exchange ON array_entry (workspace_id, exchange_id) WHERE exchange_id IS NOT NULL;
CREATE INDEX compaction_by_position ON compaction (workspace_id, position);
CREATE INDEX heartbeat_by_exchange ON heartbeat (workspace_id, exchange_id) WHERE exchange_id IS NOT NULL;
CREATE INDEX tombstone_digest_by_item ON tombstone_digest (workspace_id, item_id);

-- What a person looks at page by page: subjects as they were last observed, by the beginning of a name, and what happened
-- when, kind by kind. A page then costs what it shows, however much a workspace holds.
CREATE INDEX document_by_time ON document (workspace_id, kind, happened_at, item_id);
CREATE INDEX session_by_start ON session (workspace_id, started_at, id);
-- only: postgresql
-- In the order of characters, whatever the language of the database: only then do names with one beginning stand together.
CREATE INDEX subject_name_by_spelling ON subject_name (workspace_id, name_key COLLATE "C");
-- end

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

-- Whether a workspace is on its way. Nobody sees one that is `arriving` until it is whole. One that is `leaving` is being
-- copied into another store and takes no writes; of one that is `gone`, only its name is left, and where it went.
-- `journey` is the same at both ends, so that whoever goes on after a crash knows what has been done.
ALTER TABLE workspace ADD COLUMN state TEXT NOT NULL DEFAULT 'here'
    CHECK (state IN ('arriving', 'here', 'leaving', 'gone'));
ALTER TABLE workspace ADD COLUMN journey TEXT;
ALTER TABLE workspace ADD COLUMN destination TEXT;
ALTER TABLE workspace ADD COLUMN departed_at BIGINT;
-- A workspace that came from another store keeps its ids, which others may have here. What must be unique in the whole
-- store, the rows of SQLite's word index, is counted from here.
ALTER TABLE workspace ADD COLUMN word_base BIGINT NOT NULL DEFAULT 0;
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
CREATE INDEX scene_life_by_whole ON scene_life (workspace_id, split_from) WHERE split_from IS NOT NULL;

-- What was changed about scenes, a row for each scene that a change concerns; its id is that of the event which records
-- the change. `was` and `became` are JSON with what differs; `was` is null for a scene that the change made. `lost` means
-- that words of it were forgotten, so that it cannot be undone.
CREATE TABLE scene_change (
    workspace_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    scene_id BIGINT NOT NULL,
    act TEXT NOT NULL CHECK (act IN ('correct', 'move', 'merge', 'split', 'undo')),
    author TEXT NOT NULL,
    was TEXT,
    became TEXT NOT NULL,
    reason TEXT,
    undone_by BIGINT,
    lost BIGINT NOT NULL DEFAULT 0,
    checksum BIGINT,
    PRIMARY KEY (workspace_id, id, scene_id),
    FOREIGN KEY (workspace_id, id) REFERENCES event (workspace_id, id),
    FOREIGN KEY (workspace_id, scene_id) REFERENCES scene (workspace_id, id)
);
CREATE INDEX scene_change_by_scene ON scene_change (workspace_id, scene_id, id);

-- When a note was first shown in a context or marked as read, and in which session: that one still finds it unread for a
-- while, so that its context stays the same. Null for what nobody has read.
ALTER TABLE note ADD COLUMN read_at BIGINT;
ALTER TABLE note ADD COLUMN read_in BIGINT;

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
-- Who says something, whether it is for the conversation or about it, and what it answers.
-- `sender` is the name of a speaker where several speak, and empty for the person whose workspace it is. An event comes
-- from a machine and takes no reply; a notice is a word of the system to a person, which no model sees. `quote` is the
-- text of an earlier message to which this one refers.
ALTER TABLE message ADD COLUMN sender TEXT NOT NULL DEFAULT '';
ALTER TABLE message ADD COLUMN kind TEXT NOT NULL DEFAULT 'message' CHECK (kind IN ('message', 'event', 'notice'));
ALTER TABLE message ADD COLUMN quote TEXT NOT NULL DEFAULT '';
-- Where people are reached, and where what the agent says first has gone.
-- A contact is a channel and an address from which a person has written, or at which somebody is reached now. `wrote_id`
-- is the last message from there (0: none yet). `reached_until` is a lease: the process `holder` renews it while somebody
-- can be reached there, so that a process that dies leaves nobody behind who is not there.
CREATE TABLE contact (
    workspace_id BIGINT NOT NULL,
    channel TEXT NOT NULL,
    address TEXT NOT NULL,
    wrote_id BIGINT NOT NULL,
    reached_until BIGINT NOT NULL,
    holder TEXT NOT NULL,
    PRIMARY KEY (workspace_id, channel, address)
); -- small
INSERT INTO contact (workspace_id, channel, address, wrote_id, reached_until, holder)
SELECT workspace_id, channel, address, MAX(id), 0, '' FROM message
WHERE direction = 'in' AND kind = 'message' AND state NOT IN ('refused', 'withdrawn')
GROUP BY workspace_id, channel, address;

-- Whether an event causes a turn by itself; one that does not waits for the next message.
ALTER TABLE message ADD COLUMN wakes BIGINT NOT NULL DEFAULT 1;
-- Where a message that belongs to no channel has gone and why, as JSON; null for a reply, which goes where the question
-- came from.
ALTER TABLE message ADD COLUMN route TEXT;
-- The system prompt as it was last built, so that all processes of a workspace send the same bytes, which a provider has
-- cached. `signature` tells of which notes it was made, `whole` (JSON) which of them it shows from beginning to end. It is
-- made of notes alone and can be made again: a forgetting deletes it.
CREATE TABLE system_prompt (
    workspace_id BIGINT PRIMARY KEY REFERENCES workspace (id),
    signature TEXT NOT NULL,
    body TEXT NOT NULL,
    whole TEXT NOT NULL,
    at BIGINT NOT NULL
);
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
-- The tools of other programs that the agent may use, and what it wants to do with them or with notes.
-- `told` is a tool as its server describes it now, `allowed` as the person allowed it: one that has changed since is not
-- offered until the person has approved the change.
CREATE TABLE hand_tool (
    workspace_id BIGINT NOT NULL REFERENCES workspace (id),
    server TEXT NOT NULL,
    tool TEXT NOT NULL,
    told TEXT NOT NULL,
    allowed TEXT NOT NULL,
    -- Whether the person said that it need not ask again.
    is_always BIGINT NOT NULL,
    -- Whether the server has stopped listing it.
    is_gone BIGINT NOT NULL,
    told_at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, server, tool)
);
CREATE TABLE hand_server (
    workspace_id BIGINT NOT NULL REFERENCES workspace (id),
    server TEXT NOT NULL,
    -- When it last told its tools, and when and why it last failed; 0 for never.
    listed_at BIGINT NOT NULL,
    failed_at BIGINT NOT NULL,
    last_error TEXT NOT NULL,
    PRIMARY KEY (workspace_id, server)
);
-- What the agent wants to do, and what became of it: the use of a tool, a change of a note, or the change of a tool that
-- a server has made. `question` is what the person is shown, and `input` what is done, exactly. An action that ran unasked
-- was never waiting.
CREATE TABLE action (
    workspace_id BIGINT NOT NULL REFERENCES workspace (id),
    id BIGINT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('tool', 'note', 'change')),
    server TEXT NOT NULL,
    tool TEXT NOT NULL,
    input TEXT NOT NULL,
    question TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN (
        'waiting', 'approved', 'refused', 'expired', 'running', 'done', 'failed', 'unknown'
    )),
    is_asked BIGINT NOT NULL,
    -- The key of the call that wants it: the same call in a turn that is tried again is the same action.
    call_key TEXT,
    channel TEXT NOT NULL,
    address TEXT NOT NULL,
    asked_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    decided_at BIGINT,
    decided_by TEXT NOT NULL,
    began_at BIGINT,
    ended_at BIGINT,
    result TEXT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, call_key)
);
CREATE INDEX action_by_state ON action (workspace_id, state, id);
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
-- From when on a task should look at a workspace: written with whatever gives it something to do, and gone once it has
-- found nothing. Whoever looks writes a number into `claim`, and whoever marks the row meanwhile takes it out again, so
-- that no mark is lost. `basis` says by which settings the row of the audit was written.
CREATE TABLE due (
    workspace_id BIGINT NOT NULL REFERENCES workspace (id),
    task TEXT NOT NULL,
    at BIGINT NOT NULL,
    claim BIGINT NOT NULL DEFAULT 0,
    basis TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (workspace_id, task)
); -- small
CREATE INDEX due_by_time ON due (task, at);
-- The oldest program that may use the store: one that knows this step. Steps that only add leave it as it is, so that
-- programs of the version before go on.
ALTER TABLE store_identity ADD COLUMN oldest_program BIGINT NOT NULL DEFAULT 0;
