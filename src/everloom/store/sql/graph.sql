-- Statements of the memory graph.

-- name: graph_add
INSERT INTO graph (workspace_id, id, name, name_key, directory, reflections)
VALUES (:workspace, :id, :name, :name_key, :directory, 0);

-- name: graph_by_key
SELECT id, name, directory, reflections, reflected_at, decayed_at, cored_at, mirrored_at FROM graph
WHERE workspace_id = :workspace AND name_key = :name_key;

-- name: graph_get
SELECT id, name, directory, reflections, reflected_at, decayed_at, cored_at, mirrored_at FROM graph
WHERE workspace_id = :workspace AND id = :id;

-- name: graph_all
SELECT id, name, directory, reflections, reflected_at, decayed_at, cored_at, mirrored_at FROM graph
WHERE workspace_id = :workspace ORDER BY id;

-- name: graph_move
UPDATE graph SET directory = :directory WHERE workspace_id = :workspace AND id = :id;

-- name: graph_reflected
UPDATE graph SET reflections = reflections + 1, reflected_at = :at WHERE workspace_id = :workspace AND id = :id;

-- name: graph_decayed
UPDATE graph SET decayed_at = :at WHERE workspace_id = :workspace AND id = :id;

-- name: graph_cored
UPDATE graph SET cored_at = :at WHERE workspace_id = :workspace AND id = :id;

-- name: graph_mirrored
UPDATE graph SET mirrored_at = :at WHERE workspace_id = :workspace AND id = :id;

-- name: memory_add
INSERT INTO memory (workspace_id, id, graph_id, uuid, type, title, tags, importance, confidence, created, updated, path,
    in_vault, archived, gone_at)
VALUES (:workspace, :id, :graph, :uuid, :type, :title, :tags, :importance, :confidence, :created, :updated, :path,
    :in_vault, 0, NULL);

-- name: memory_change
UPDATE memory SET type = :type, title = :title, tags = :tags, importance = :importance, confidence = :confidence,
    created = :created, updated = :updated, path = :path, in_vault = :in_vault, gone_at = NULL
WHERE workspace_id = :workspace AND id = :id;

-- name: memory_gone
UPDATE memory SET title = '', tags = '[]', archived = 0, gone_at = :at
WHERE workspace_id = :workspace AND id IN (:*ids);

-- name: memory_archive
UPDATE memory SET archived = :archived WHERE workspace_id = :workspace AND id IN (:*ids);

-- name: memory_by_uuid
SELECT id, uuid, type, title, tags, importance, confidence, created, updated, path, in_vault, archived, gone_at
FROM memory WHERE workspace_id = :workspace AND graph_id = :graph AND uuid IN (:*uuids);

-- name: memory_by_prefix
SELECT uuid FROM memory WHERE workspace_id = :workspace AND graph_id = :graph AND gone_at IS NULL
    AND uuid >= :low AND uuid < :high ORDER BY uuid LIMIT 3;

-- name: memory_of
SELECT m.id, m.uuid, m.type, m.title, m.tags, m.importance, m.confidence, m.created, m.updated, m.path, m.in_vault,
    m.archived, m.gone_at, m.graph_id, a.count, a.last_at, a.pinned
FROM memory AS m LEFT JOIN access AS a ON a.workspace_id = m.workspace_id AND a.item_id = m.id
WHERE m.workspace_id = :workspace AND m.id IN (:*ids) AND m.gone_at IS NULL;

-- name: memory_all
SELECT m.id, m.uuid, m.type, m.title, m.tags, m.importance, m.confidence, m.created, m.updated, m.path, m.in_vault,
    m.archived, m.gone_at, m.graph_id, a.count, a.last_at, a.pinned
FROM memory AS m LEFT JOIN access AS a ON a.workspace_id = m.workspace_id AND a.item_id = m.id
WHERE m.workspace_id = :workspace AND m.graph_id = :graph AND m.gone_at IS NULL ORDER BY m.updated DESC, m.id DESC;

-- name: memory_fading
-- Only what a decay reads.
SELECT m.id, m.type, m.importance, m.created, m.in_vault, m.archived, a.count, a.last_at, a.pinned
FROM memory AS m LEFT JOIN access AS a ON a.workspace_id = m.workspace_id AND a.item_id = m.id
WHERE m.workspace_id = :workspace AND m.graph_id = :graph AND m.gone_at IS NULL;

-- name: memory_count
SELECT COUNT(*) AS count FROM memory WHERE workspace_id = :workspace AND graph_id = :graph AND gone_at IS NULL;

-- name: access_restore
INSERT INTO access (workspace_id, item_id, count, last_at, pinned, useful, questionable)
VALUES (:workspace, :item, :count, :at, 0, 0, 0)
ON CONFLICT (workspace_id, item_id) DO UPDATE SET
    count = CASE WHEN access.count > excluded.count THEN access.count ELSE excluded.count END,
    last_at = CASE WHEN access.count > 0 AND access.last_at > excluded.last_at THEN access.last_at ELSE excluded.last_at END;

-- name: document_revive
UPDATE document SET retired_at = NULL, retired_by = NULL WHERE workspace_id = :workspace AND item_id IN (:*ids);

-- name: relation_add
INSERT INTO relation (workspace_id, memory_id, position, target, type, direction, strength, context, edge_uuid)
VALUES (:workspace, :memory, :position, :target, :type, :direction, :strength, :context, :edge);

-- name: relation_drop
DELETE FROM relation WHERE workspace_id = :workspace AND memory_id IN (:*ids);

-- name: relation_of
SELECT memory_id, position, target, type, direction, strength, context, edge_uuid FROM relation
WHERE workspace_id = :workspace AND memory_id IN (:*ids) ORDER BY memory_id, position;

-- name: relation_all
SELECT r.memory_id, m.uuid, r.target, r.type, r.direction, r.strength, r.context, r.edge_uuid FROM relation AS r
JOIN memory AS m ON m.workspace_id = r.workspace_id AND m.id = r.memory_id
WHERE r.workspace_id = :workspace AND m.graph_id = :graph AND m.gone_at IS NULL ORDER BY r.memory_id, r.position;

-- name: relation_to
SELECT m.uuid, m.path FROM relation AS r
JOIN memory AS m ON m.workspace_id = r.workspace_id AND m.id = r.memory_id
WHERE r.workspace_id = :workspace AND m.graph_id = :graph AND m.gone_at IS NULL AND r.target = :uuid ORDER BY m.id;

-- name: edge_add
INSERT INTO edge (workspace_id, id, graph_id, uuid, type, from_uuid, from_title, to_uuid, to_title, strength,
    description, created, updated, path)
VALUES (:workspace, :id, :graph, :uuid, :type, :from, :from_title, :to, :to_title, :strength, :description, :created,
    :updated, :path);

-- name: edge_change
UPDATE edge SET type = :type, from_uuid = :from, from_title = :from_title, to_uuid = :to, to_title = :to_title,
    strength = :strength, description = :description, created = :created, updated = :updated, path = :path
WHERE workspace_id = :workspace AND id = :id;

-- name: edge_drop
DELETE FROM edge WHERE workspace_id = :workspace AND id IN (:*ids);

-- name: edge_by_uuid
SELECT id, uuid, type, from_uuid, from_title, to_uuid, to_title, strength, description, created, updated, path
FROM edge WHERE workspace_id = :workspace AND graph_id = :graph AND uuid IN (:*uuids);

-- name: edge_by_prefix
SELECT uuid FROM edge WHERE workspace_id = :workspace AND graph_id = :graph AND uuid >= :low AND uuid < :high
ORDER BY uuid LIMIT 3;

-- name: edge_of
SELECT id, uuid, type, from_uuid, from_title, to_uuid, to_title, strength, description, created, updated, path
FROM edge WHERE workspace_id = :workspace AND graph_id = :graph AND (from_uuid = :uuid OR to_uuid = :uuid) ORDER BY id;

-- name: edge_all
SELECT id, uuid, type, from_uuid, from_title, to_uuid, to_title, strength, description, created, updated, path
FROM edge WHERE workspace_id = :workspace AND graph_id = :graph ORDER BY updated DESC, id DESC;

-- name: edge_count
SELECT COUNT(*) AS count FROM edge WHERE workspace_id = :workspace AND graph_id = :graph;

-- name: file_all
SELECT path, mtime_ns, size, hash, checked_at, item_id, problem, line FROM graph_file
WHERE workspace_id = :workspace AND graph_id = :graph;

-- name: file_of
SELECT path, mtime_ns, size, hash, checked_at, item_id, problem, line FROM graph_file
WHERE workspace_id = :workspace AND graph_id = :graph AND path IN (:*paths);

-- name: file_problems
SELECT path, line, problem FROM graph_file
WHERE workspace_id = :workspace AND graph_id = :graph AND problem IS NOT NULL ORDER BY path;

-- name: file_put
INSERT INTO graph_file (workspace_id, graph_id, path, mtime_ns, size, hash, checked_at, item_id, problem, line)
VALUES (:workspace, :graph, :path, :mtime_ns, :size, :hash, :checked_at, :item, :problem, :line)
ON CONFLICT (workspace_id, graph_id, path) DO UPDATE SET mtime_ns = excluded.mtime_ns, size = excluded.size,
    hash = excluded.hash, checked_at = excluded.checked_at, item_id = excluded.item_id, problem = excluded.problem,
    line = excluded.line;

-- name: file_touch
UPDATE graph_file SET mtime_ns = :mtime_ns, size = :size, checked_at = :checked_at
WHERE workspace_id = :workspace AND graph_id = :graph AND path = :path;

-- name: file_drop
DELETE FROM graph_file WHERE workspace_id = :workspace AND graph_id = :graph AND path IN (:*paths);

-- name: intent_add
INSERT INTO graph_intent (workspace_id, graph_id, key, stage, plan, at)
VALUES (:workspace, :graph, :key, 'files', :plan, :at);

-- name: intent_all
SELECT key, stage, plan, at FROM graph_intent WHERE workspace_id = :workspace AND graph_id = :graph ORDER BY at, key;

-- name: intent_indexed
UPDATE graph_intent SET stage = 'git' WHERE workspace_id = :workspace AND graph_id = :graph AND key = :key;

-- name: intent_drop
DELETE FROM graph_intent WHERE workspace_id = :workspace AND graph_id = :graph AND key = :key;
