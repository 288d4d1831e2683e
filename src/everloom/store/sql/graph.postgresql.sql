-- PostgreSQL's own forms: paths are compared by their characters, whatever the language of the database.

-- name: file_below
-- Read what is known about the files of a folder.
SELECT path, mtime_ns, size, hash, checked_at, item_id, problem, line FROM graph_file
WHERE workspace_id = :workspace AND graph_id = :graph AND path COLLATE "C" >= :low AND path COLLATE "C" < :high;
