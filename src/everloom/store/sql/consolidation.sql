-- What the driver of consolidation reads: only what is new for a subject, a pair or a session.

-- name: subject_fresh
-- List the observations about a subject that its understanding has not seen.
SELECT observation_id AS id FROM observation_subject
WHERE workspace_id = :workspace AND subject_id = :subject AND since_id > :after ORDER BY observation_id;

-- name: pair_fresh
-- List the observations about two subjects that their understanding has not seen.
SELECT x.observation_id AS id FROM observation_subject AS x
JOIN observation_subject AS y ON y.workspace_id = x.workspace_id AND y.observation_id = x.observation_id AND y.subject_id = :b
WHERE x.workspace_id = :workspace AND x.subject_id = :a AND x.since_id > :after
UNION
SELECT x.observation_id AS id FROM observation_subject AS x
JOIN observation_subject AS y ON y.workspace_id = x.workspace_id AND y.observation_id = x.observation_id AND y.subject_id = :a
WHERE x.workspace_id = :workspace AND x.subject_id = :b AND x.since_id > :after
ORDER BY id;

-- name: session_fresh
-- List the observations of a session that its note has not seen.
SELECT id FROM observation WHERE workspace_id = :workspace AND session_id = :session AND id > :after ORDER BY id;

-- name: session_waiting_count
-- Count the sessions that need a note.
SELECT COUNT(*) AS count FROM session_state AS x WHERE x.workspace_id = :workspace AND x.observed_through > x.settled_through;

-- name: written_since
-- List understandings that were written since an id, newest first, for the orientation.
SELECT u.id, u.kind, d.title FROM understanding AS u
JOIN document AS d ON d.workspace_id = u.workspace_id AND d.item_id = u.id
WHERE u.workspace_id = :workspace AND u.id > :after AND u.superseded_by IS NULL
    AND u.kind IN ('single_subject', 'relationship')
ORDER BY u.id DESC LIMIT :limit;
