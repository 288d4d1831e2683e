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
CREATE INDEX subject_by_observed ON subject (workspace_id, observed_through);

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
);
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
