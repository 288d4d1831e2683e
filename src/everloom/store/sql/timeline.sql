-- Statements for looking back over time. All go by when something happened, kind by kind, along one index.

-- name: bounds
-- Find when the first and the last thing of each kind happened.
SELECT k.value AS kind,
    (SELECT MIN(d.happened_at) FROM document AS d WHERE d.workspace_id = :workspace AND d.kind = k.value) AS first,
    (SELECT MAX(d.happened_at) FROM document AS d WHERE d.workspace_id = :workspace AND d.kind = k.value) AS last
FROM json_each(:kinds) AS k;

-- name: ahead_count
-- Count the present items that happened after a time and are not planned.
SELECT COUNT(*) AS count FROM document
WHERE workspace_id = :workspace AND kind IN (:*kinds) AND happened_at > :after AND retired_at IS NULL AND details <> :planned;

-- name: ahead
-- List the present items that happened after a time and are not planned, latest first.
SELECT item_id AS id, kind, SUBSTR(text, 1, 60) AS text, happened_at FROM document
WHERE workspace_id = :workspace AND kind IN (:*kinds) AND happened_at > :after AND retired_at IS NULL AND details <> :planned
ORDER BY happened_at DESC, item_id DESC LIMIT :limit;

-- name: counts
-- Count what happened in each of some spans, kind by kind; counting stops at so many.
SELECT k.value AS kind, s.key AS place, (SELECT COUNT(*) FROM (
    SELECT 1 FROM document AS d WHERE d.workspace_id = :workspace AND d.kind = k.value
        AND d.happened_at >= json_extract(s.value, '$[0]') AND d.happened_at < json_extract(s.value, '$[1]')
    LIMIT :most) AS x) AS count
FROM json_each(:kinds) AS k CROSS JOIN json_each(:spans) AS s;

-- name: page
-- Page through what happened of one kind, in order; a text is read as far as a line shows it.
SELECT item_id AS id, kind, title, SUBSTR(text, 1, :longest) AS text, happened_at, retired_at, session_id FROM document
WHERE workspace_id = :workspace AND kind = :kind AND (happened_at, item_id) > (:at, :id) AND happened_at <= :end
ORDER BY happened_at, item_id LIMIT :limit;

-- name: sessions
-- List the sessions that began between two times, latest first, and of what kind each is.
SELECT s.id, s.label, s.started_at, s.seen_at, i.kind FROM session AS s
JOIN item AS i ON i.workspace_id = s.workspace_id AND i.id = s.id
WHERE s.workspace_id = :workspace AND s.started_at >= :begin AND s.started_at <= :end
ORDER BY s.started_at DESC, s.id DESC LIMIT :limit;
