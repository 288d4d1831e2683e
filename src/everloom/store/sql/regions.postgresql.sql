-- Statements that PostgreSQL needs in its own dialect.

-- name: name_page
-- Page through the names and aliases between two spellings, the first included.
SELECT name_key, subject_id FROM subject_name
WHERE workspace_id = :workspace AND name_key COLLATE "C" >= :begin AND name_key COLLATE "C" < :end
ORDER BY name_key COLLATE "C" LIMIT :limit;

-- name: name_holding
-- Find names that contain a string, among the first so many.
SELECT w.name_key, w.subject_id FROM (
    SELECT name_key, subject_id FROM subject_name WHERE workspace_id = :workspace
    ORDER BY name_key COLLATE "C" LIMIT :window) AS w
WHERE w.name_key LIKE :pattern ESCAPE '\' ORDER BY w.name_key COLLATE "C" LIMIT :limit;
