-- Statements of what programs keep. `:workspace` is always the workspace of the unit of work. `:low` and `:high` bound the
-- namespaces that begin with a path; what has expired by `:now` is not there.

-- name: record_get
-- Read one record.
SELECT namespace, key, position, revision, value, data, item_id, created_at, changed_at, lifetime
FROM program_record WHERE workspace_id = :workspace AND space = :space AND namespace = :namespace AND key = :key
    AND (expires_at IS NULL OR expires_at > :now);

-- name: record_last
-- Read the last records of a namespace, newest first.
SELECT namespace, key, position, revision, value, data, item_id, created_at, changed_at, lifetime
FROM program_record WHERE workspace_id = :workspace AND space = :space AND namespace = :namespace
    AND (expires_at IS NULL OR expires_at > :now)
ORDER BY position DESC LIMIT :limit;

-- name: record_below
-- Read the records below a path, namespace by namespace in their order, after a place.
SELECT namespace, key, position, revision, value, data, item_id, created_at, changed_at, lifetime
FROM program_record WHERE workspace_id = :workspace AND space = :space AND namespace >= :low AND namespace < :high
    AND (namespace, position) > (:after, :position) AND (expires_at IS NULL OR expires_at > :now)
ORDER BY namespace, position LIMIT :limit;

-- name: record_keys
-- List the records below a path without what they hold.
SELECT namespace, key, position, changed_at FROM program_record
WHERE workspace_id = :workspace AND space = :space AND namespace >= :low AND namespace < :high
    AND (expires_at IS NULL OR expires_at > :now)
ORDER BY namespace, position;

-- name: record_greatest
-- List the greatest keys of a namespace below another one, in the order of their characters.
SELECT key FROM program_record
WHERE workspace_id = :workspace AND space = :space AND namespace = :namespace AND key < :before
    AND (expires_at IS NULL OR expires_at > :now)
ORDER BY key DESC LIMIT :limit;

-- name: record_namespaces
-- List the namespaces below a path.
SELECT DISTINCT namespace FROM program_record
WHERE workspace_id = :workspace AND space = :space AND namespace >= :low AND namespace < :high
    AND (expires_at IS NULL OR expires_at > :now)
ORDER BY namespace;

-- name: record_items
-- List the items by which search finds the records below a path.
SELECT item_id FROM program_record
WHERE workspace_id = :workspace AND space = :space AND namespace >= :low AND namespace < :high
    AND item_id IS NOT NULL AND (expires_at IS NULL OR expires_at > :now)
LIMIT :limit;

-- name: record_of_items
-- Read the records of some items, in any space.
SELECT space, namespace, key, position, revision, value, data, item_id, created_at, changed_at, lifetime
FROM program_record WHERE workspace_id = :workspace AND item_id IN (:*ids) AND (expires_at IS NULL OR expires_at > :now);

-- name: record_head
-- Read what a change of a record depends on, also of one that has expired.
SELECT revision, item_id, expires_at FROM program_record
WHERE workspace_id = :workspace AND space = :space AND namespace = :namespace AND key = :key;

-- name: record_end
-- Find the last position of a namespace.
SELECT MAX(position) AS position FROM program_record
WHERE workspace_id = :workspace AND space = :space AND namespace = :namespace;

-- name: record_add
-- Store a new record.
INSERT INTO program_record (workspace_id, space, namespace, key, position, revision, value, data, item_id, created_at,
    changed_at, lifetime, expires_at)
VALUES (:workspace, :space, :namespace, :key, :position, 1, :value, :data, :item, :at, :at, :lifetime, :expires);

-- name: record_change
-- Put another content into a record, if it still has the revision that was read.
UPDATE program_record SET value = :value, data = :data, revision = revision + 1, item_id = :item, changed_at = :at,
    lifetime = :lifetime, expires_at = :expires
WHERE workspace_id = :workspace AND space = :space AND namespace = :namespace AND key = :key AND revision = :expected;

-- name: record_scrub
-- Put a content without forgotten words into a record.
UPDATE program_record SET value = :value, data = :data, revision = revision + 1, changed_at = :at
WHERE workspace_id = :workspace AND space = :space AND namespace = :namespace AND key = :key;

-- name: record_used
-- Let a record live on from now.
UPDATE program_record SET expires_at = :at + lifetime
WHERE workspace_id = :workspace AND space = :space AND namespace = :namespace AND key = :key AND lifetime IS NOT NULL
    AND expires_at > :at;

-- name: record_drop
-- Delete one record.
DELETE FROM program_record
WHERE workspace_id = :workspace AND space = :space AND namespace = :namespace AND key = :key;

-- name: record_drop_below
-- Delete the records below a path.
DELETE FROM program_record
WHERE workspace_id = :workspace AND space = :space AND namespace >= :low AND namespace < :high;

-- name: record_drop_items
-- Delete the records of some items.
DELETE FROM program_record WHERE workspace_id = :workspace AND item_id IN (:*ids);

-- name: record_due
-- Count what has expired.
SELECT COUNT(*) AS count FROM program_record WHERE workspace_id = :workspace AND expires_at <= :now;

-- name: record_next
-- Find when the next record expires.
SELECT expires_at AS at FROM program_record WHERE workspace_id = :workspace AND expires_at IS NOT NULL
ORDER BY expires_at LIMIT 1;

-- name: record_expired
-- Find some of what has expired.
SELECT space, namespace, key, item_id FROM program_record
WHERE workspace_id = :workspace AND expires_at <= :now ORDER BY expires_at LIMIT :limit;

-- name: record_page
-- Read all records of a workspace, page by page, also what has expired.
SELECT space, namespace, key, value, data, item_id FROM program_record
WHERE workspace_id = :workspace AND (space, namespace, key) > (:space, :namespace, :key)
ORDER BY space, namespace, key LIMIT :limit;
