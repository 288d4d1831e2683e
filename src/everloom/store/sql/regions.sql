-- Statements for looking around among subjects. Each reads a page, or a window of so many rows: none reads a subject whole.

-- name: subject_page
-- Page through the subjects, those observed last first.
SELECT id, observed_through FROM subject
WHERE workspace_id = :workspace AND (observed_through, id) < (:observed, :id)
ORDER BY observed_through DESC, id DESC LIMIT :limit;

-- name: subject_tagged
-- Page through the subjects with a tag, newest first.
SELECT subject_id AS id FROM subject_tag WHERE workspace_id = :workspace AND tag_key = :tag_key AND subject_id < :before
ORDER BY subject_id DESC LIMIT :limit;

-- name: name_page
-- Page through the names and aliases between two spellings, the first included.
SELECT name_key, subject_id FROM subject_name
WHERE workspace_id = :workspace AND name_key >= :begin AND name_key < :end ORDER BY name_key LIMIT :limit;

-- name: name_holding
-- Find names that contain a string, among the first so many.
SELECT n.name_key, n.subject_id FROM (
    SELECT name_key FROM subject_name WHERE workspace_id = :workspace ORDER BY name_key LIMIT :window) AS w
JOIN subject_name AS n ON n.workspace_id = :workspace AND n.name_key = w.name_key
WHERE w.name_key LIKE :pattern ESCAPE '\' ORDER BY n.name_key LIMIT :limit;

-- name: observations
-- Read a window of a subject's observations, those tagged last first, and how many of other subjects each is about.
SELECT w.since_id AS since, w.observation_id AS id,
    (SELECT COUNT(*) FROM observation_subject AS t WHERE t.workspace_id = :workspace
        AND t.observation_id = w.observation_id AND t.subject_id IN (:*others)) AS inside,
    (SELECT COUNT(*) FROM observation_subject AS t WHERE t.workspace_id = :workspace
        AND t.observation_id = w.observation_id AND t.subject_id IN (:*outside)) AS outside
FROM (SELECT since_id, observation_id FROM observation_subject
    WHERE workspace_id = :workspace AND subject_id = :subject AND (since_id, observation_id) < (:since, :id)
    ORDER BY since_id DESC, observation_id DESC LIMIT :window) AS w
ORDER BY w.since_id DESC, w.observation_id DESC;

-- name: shared
-- Count the observations in a window of a subject's newest, and those of them that are about all of some others, too.
SELECT COUNT(*) AS looked, COALESCE(SUM(CASE WHEN x.inside = :count THEN 1 ELSE 0 END), 0) AS shared FROM (
    SELECT (SELECT COUNT(*) FROM observation_subject AS t WHERE t.workspace_id = :workspace
        AND t.observation_id = w.observation_id AND t.subject_id IN (:*others)) AS inside
    FROM (SELECT observation_id FROM observation_subject WHERE workspace_id = :workspace AND subject_id = :subject
        ORDER BY since_id DESC, observation_id DESC LIMIT :window) AS w) AS x;

-- name: understandings
-- Read a window of a subject's newest understandings that are in force, and how many of other subjects each is about.
SELECT w.understanding_id AS id,
    (SELECT COUNT(*) FROM understanding_subject AS t WHERE t.workspace_id = :workspace
        AND t.understanding_id = w.understanding_id AND t.subject_id IN (:*others)) AS inside,
    (SELECT COUNT(*) FROM understanding_subject AS t WHERE t.workspace_id = :workspace
        AND t.understanding_id = w.understanding_id AND t.subject_id IN (:*outside)) AS outside
FROM (SELECT understanding_id FROM understanding_subject WHERE workspace_id = :workspace AND subject_id = :subject
    ORDER BY understanding_id DESC LIMIT :window) AS w
JOIN understanding AS u ON u.workspace_id = :workspace AND u.id = w.understanding_id AND u.superseded_by IS NULL
ORDER BY w.understanding_id DESC;
