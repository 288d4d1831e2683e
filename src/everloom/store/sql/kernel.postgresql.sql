-- Statements that PostgreSQL needs in its own dialect.

-- name: life (global)
-- Read which life of the store this is, who may use it, where new workspaces begin to count, and whether this one is on its way.
SELECT s.incarnation, s.ids_above, s.oldest_program, w.name, w.state, w.destination, w.word_base
FROM store_identity AS s LEFT JOIN workspace AS w ON w.id = :workspace;

-- name: lock_take
-- Take the write lock of the workspace, and hold it until the transaction ends.
SELECT workspace_id FROM write_lock WHERE workspace_id = :workspace FOR UPDATE;

-- name: lock_add
-- Make the write lock of the workspace; its first writer does.
INSERT INTO write_lock (workspace_id) VALUES (:workspace) ON CONFLICT DO NOTHING;

-- name: numbers_read
-- Read the last numbers that were given in the workspace.
SELECT item, revision FROM workspace_counter WHERE workspace_id = :workspace;

-- name: numbers_save
-- Record the last numbers that were given in the workspace.
INSERT INTO workspace_counter (workspace_id, item, revision) VALUES (:workspace, :item, :revision)
ON CONFLICT (workspace_id) DO UPDATE SET item = excluded.item, revision = excluded.revision;

-- name: count_above (global)
-- Let workspaces that are made later begin above a number.
UPDATE store_identity SET ids_above = :last WHERE ids_above < :last;

-- name: access_count
-- Count one access to each of some items.
-- The row that is locked says which node of a cluster all of it belongs to.
INSERT INTO access (workspace_id, item_id, count, last_at, pinned, useful, questionable)
SELECT w.workspace_id, i.id, 1, :at, 0, 0, 0 FROM write_lock AS w CROSS JOIN unnest(:items::bigint[]) AS i (id)
WHERE w.workspace_id = :workspace
ON CONFLICT (workspace_id, item_id) DO UPDATE SET count = access.count + 1, last_at = excluded.last_at,
    lent = 0;

-- name: schema_version (global)
-- Read the number of the newest step that the store has.
SELECT COALESCE(MAX(number), 0) AS number FROM migration;
