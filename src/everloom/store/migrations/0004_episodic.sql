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
    death TEXT CHECK (death IN ('faded', 'absorbed')),
    absorbed_into BIGINT,
    PRIMARY KEY (workspace_id, scene_id),
    CHECK ((death IS NOT NULL) = (status = 'dead')),
    CHECK ((absorbed_into IS NOT NULL) = (death IS NOT NULL AND death = 'absorbed')),
    FOREIGN KEY (workspace_id, scene_id) REFERENCES scene (workspace_id, id),
    FOREIGN KEY (workspace_id, cluster_id) REFERENCES cluster (workspace_id, id),
    FOREIGN KEY (workspace_id, absorbed_into) REFERENCES scene (workspace_id, id)
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
