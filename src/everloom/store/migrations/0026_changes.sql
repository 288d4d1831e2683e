-- Scenes that people change once they were taken in. The table is made anew because a scene can now be dead for two more
-- reasons, and an engine cannot loosen what it checks in place.
CREATE TABLE scene_life_kept AS SELECT * FROM scene_life;
DROP TABLE scene_life;
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
INSERT INTO scene_life (workspace_id, scene_id, cluster_id, status, importance, lifespan, session_count,
    reactivation_count, last_activated, fresh, dying_since, death, absorbed_into)
SELECT workspace_id, scene_id, cluster_id, status, importance, lifespan, session_count,
    reactivation_count, last_activated, fresh, dying_since, death, absorbed_into
FROM scene_life_kept;
DROP TABLE scene_life_kept;
CREATE INDEX scene_life_by_cluster ON scene_life (workspace_id, cluster_id, status);
CREATE INDEX scene_life_dying ON scene_life (workspace_id, scene_id) WHERE status = 'dying';
CREATE INDEX scene_life_fresh ON scene_life (workspace_id, scene_id) WHERE fresh = 1;
CREATE INDEX scene_life_recent ON scene_life (workspace_id, last_activated) WHERE status <> 'dead';
CREATE INDEX scene_life_by_absorber ON scene_life (workspace_id, absorbed_into) WHERE absorbed_into IS NOT NULL;
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
