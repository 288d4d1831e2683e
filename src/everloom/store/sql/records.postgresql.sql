-- PostgreSQL's own forms: paths are compared by their characters, whatever the language of the database.

-- name: record_below
-- Read the records below a path, namespace by namespace in their order, after a place.
SELECT namespace, key, position, revision, value, data, item_id, created_at, changed_at, lifetime
FROM program_record WHERE workspace_id = :workspace AND space = :space
    AND namespace COLLATE "C" >= :low AND namespace COLLATE "C" < :high
    AND (namespace COLLATE "C", position) > (:after, :position) AND (expires_at IS NULL OR expires_at > :now)
ORDER BY namespace COLLATE "C", position LIMIT :limit;

-- name: record_keys
-- List the records below a path without what they hold.
SELECT namespace, key, position, changed_at FROM program_record
WHERE workspace_id = :workspace AND space = :space
    AND namespace COLLATE "C" >= :low AND namespace COLLATE "C" < :high
    AND (expires_at IS NULL OR expires_at > :now)
ORDER BY namespace COLLATE "C", position;

-- name: record_greatest
-- List the greatest keys of a namespace below another one, in the order of their characters.
SELECT key FROM program_record
WHERE workspace_id = :workspace AND space = :space AND namespace = :namespace AND key COLLATE "C" < :before
    AND (expires_at IS NULL OR expires_at > :now)
ORDER BY key COLLATE "C" DESC LIMIT :limit;

-- name: record_namespaces
-- List the namespaces below a path.
SELECT DISTINCT namespace COLLATE "C" AS namespace FROM program_record
WHERE workspace_id = :workspace AND space = :space
    AND namespace COLLATE "C" >= :low AND namespace COLLATE "C" < :high
    AND (expires_at IS NULL OR expires_at > :now)
ORDER BY namespace COLLATE "C";

-- name: record_items
-- List the items by which search finds the records below a path.
SELECT item_id FROM program_record
WHERE workspace_id = :workspace AND space = :space
    AND namespace COLLATE "C" >= :low AND namespace COLLATE "C" < :high
    AND item_id IS NOT NULL AND (expires_at IS NULL OR expires_at > :now)
LIMIT :limit;

-- name: record_drop_below
-- Delete the records below a path.
DELETE FROM program_record
WHERE workspace_id = :workspace AND space = :space
    AND namespace COLLATE "C" >= :low AND namespace COLLATE "C" < :high;
