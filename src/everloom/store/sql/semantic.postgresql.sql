-- Statements that PostgreSQL needs in its own dialect.

-- name: subject_name_foreign
-- Find names that may look like another: about as long, with a character outside ASCII unless every one is asked for.
SELECT name, subject_id FROM subject_name
WHERE workspace_id = :workspace AND LENGTH(name_key) BETWEEN :shortest AND :longest
    AND (:every = 1 OR OCTET_LENGTH(name) <> LENGTH(name))
LIMIT 2000;

-- name: seen_add
-- Record that a session has been shown some items.
-- The row that is locked says which node of a cluster all of it belongs to.
INSERT INTO seen (workspace_id, session_id, item_id, at)
SELECT w.workspace_id, :session, i.id, :at FROM write_lock AS w CROSS JOIN unnest(:items::bigint[]) AS i (id)
WHERE w.workspace_id = :workspace ON CONFLICT DO NOTHING;
