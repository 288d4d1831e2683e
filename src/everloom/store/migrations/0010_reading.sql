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
