-- Statements of the memory graph.

-- name: graph_add
-- Register a graph and its directory.
INSERT INTO graph (workspace_id, id, name, name_key, directory, reflections)
VALUES (:workspace, :id, :name, :name_key, :directory, 0);

-- name: graph_by_key
-- Find a graph by its name, in any spelling.
SELECT id, name, directory, reflections, reflected_at, decayed_at, cored_at, mirrored_at, made_from FROM graph
WHERE workspace_id = :workspace AND name_key = :name_key;

-- name: graph_get
-- Read one graph.
SELECT id, name, directory, reflections, reflected_at, decayed_at, cored_at, mirrored_at, made_from FROM graph
WHERE workspace_id = :workspace AND id = :id;

-- name: graph_all
-- List the graphs of a workspace.
SELECT id, name, directory, reflections, reflected_at, decayed_at, cored_at, mirrored_at, made_from FROM graph
WHERE workspace_id = :workspace ORDER BY id;

-- name: graph_move
-- Record that a graph's directory was moved.
UPDATE graph SET directory = :directory WHERE workspace_id = :workspace AND id = :id;

-- name: graph_reflected
-- Record a reflection on a graph.
UPDATE graph SET reflections = reflections + 1, reflected_at = :at WHERE workspace_id = :workspace AND id = :id;

-- name: graph_reflections
-- Let the number of reflections go on from what an adopted directory says.
UPDATE graph SET reflections = :reflections, reflected_at = :at WHERE workspace_id = :workspace AND id = :id;

-- name: graph_decayed
-- Record when a graph last decayed.
UPDATE graph SET decayed_at = :at WHERE workspace_id = :workspace AND id = :id;

-- name: graph_cored
-- Record when the core page was last written.
UPDATE graph SET cored_at = :at WHERE workspace_id = :workspace AND id = :id;

-- name: graph_mirrored
-- Record when the reflection page was last written.
UPDATE graph SET mirrored_at = :at WHERE workspace_id = :workspace AND id = :id;

-- name: graph_made
-- Record what pages, reflections and the record of use were last made from.
UPDATE graph SET made_from = :made_from WHERE workspace_id = :workspace AND id = :id;

-- name: memory_add
-- Index a memory's file.
INSERT INTO memory (workspace_id, id, graph_id, uuid, type, title, tags, importance, confidence, created, updated, path,
    in_vault, archived, gone_at)
VALUES (:workspace, :id, :graph, :uuid, :type, :title, :tags, :importance, :confidence, :created, :updated, :path,
    :in_vault, 0, NULL);

-- name: memory_change
-- Index a memory's file again, even if it had been missing.
UPDATE memory SET type = :type, title = :title, tags = :tags, importance = :importance, confidence = :confidence,
    created = :created, updated = :updated, path = :path, in_vault = :in_vault, gone_at = NULL
WHERE workspace_id = :workspace AND id = :id;

-- name: memory_gone
-- Record that the files of memories are gone; their ids are not reused.
UPDATE memory SET title = '', tags = '[]', archived = 0, gone_at = :at
WHERE workspace_id = :workspace AND id IN (:*ids);

-- name: memory_archive
-- Archive memories, or restore them.
UPDATE memory SET archived = :archived WHERE workspace_id = :workspace AND id IN (:*ids);

-- name: memory_by_uuid
-- Find memories by the ids in their files, with their use, including those that are gone.
SELECT m.id, m.uuid, m.type, m.title, m.tags, m.importance, m.confidence, m.created, m.updated, m.path, m.in_vault,
    m.archived, m.gone_at, m.graph_id, a.count, a.last_at, a.lent, a.pinned
FROM memory AS m LEFT JOIN access AS a ON a.workspace_id = m.workspace_id AND a.item_id = m.id
WHERE m.workspace_id = :workspace AND m.graph_id = :graph AND m.uuid IN (:*uuids);

-- name: memory_by_prefix
-- Find memories by the beginning of their ids; three are enough to call it ambiguous.
SELECT uuid FROM memory WHERE workspace_id = :workspace AND graph_id = :graph AND gone_at IS NULL
    AND uuid >= :low AND uuid < :high ORDER BY uuid LIMIT 3;

-- name: memory_of
-- Read memories with their use.
SELECT m.id, m.uuid, m.type, m.title, m.tags, m.importance, m.confidence, m.created, m.updated, m.path, m.in_vault,
    m.archived, m.gone_at, m.graph_id, a.count, a.last_at, a.lent, a.pinned
FROM memory AS m LEFT JOIN access AS a ON a.workspace_id = m.workspace_id AND a.item_id = m.id
WHERE m.workspace_id = :workspace AND m.id IN (:*ids) AND m.gone_at IS NULL;

-- name: memory_all
-- List the memories of a graph with their use, newest first.
SELECT m.id, m.uuid, m.type, m.title, m.tags, m.importance, m.confidence, m.created, m.updated, m.path, m.in_vault,
    m.archived, m.gone_at, m.graph_id, a.count, a.last_at, a.lent, a.pinned
FROM memory AS m LEFT JOIN access AS a ON a.workspace_id = m.workspace_id AND a.item_id = m.id
WHERE m.workspace_id = :workspace AND m.graph_id = :graph AND m.gone_at IS NULL ORDER BY m.updated DESC, m.id DESC;

-- name: memory_strengths
-- List the memories of a graph for a decay, with only what that reads.
SELECT m.id, m.uuid, m.type, m.importance, m.created, m.updated, m.in_vault, m.archived, a.count, a.last_at,
    a.lent, a.pinned
FROM memory AS m LEFT JOIN access AS a ON a.workspace_id = m.workspace_id AND a.item_id = m.id
WHERE m.workspace_id = :workspace AND m.graph_id = :graph AND m.gone_at IS NULL;

-- name: memory_tags
-- List the memories of a graph with their tags, and with what their strength is computed from.
SELECT m.id, m.type, m.tags, m.importance, m.created, m.updated, m.in_vault, a.count, a.last_at, a.lent, a.pinned
FROM memory AS m LEFT JOIN access AS a ON a.workspace_id = m.workspace_id AND a.item_id = m.id
WHERE m.workspace_id = :workspace AND m.graph_id = :graph AND m.gone_at IS NULL;

-- name: memory_count
-- Count the memories of a graph.
SELECT COUNT(*) AS count FROM memory WHERE workspace_id = :workspace AND graph_id = :graph AND gone_at IS NULL;

-- name: access_restore
-- Adopt the use counts of an imported memory, unless those here are higher.
INSERT INTO access (workspace_id, item_id, count, last_at, pinned, useful, questionable)
VALUES (:workspace, :item, :count, :at, 0, 0, 0)
ON CONFLICT (workspace_id, item_id) DO UPDATE SET
    count = CASE WHEN access.count > excluded.count THEN access.count ELSE excluded.count END,
    last_at = CASE WHEN access.count > 0 AND access.last_at > excluded.last_at THEN access.last_at ELSE excluded.last_at END;

-- name: access_join
-- Adopt how another clone used a memory: the higher count, and the later time with what was lent since then.
INSERT INTO access (workspace_id, item_id, count, last_at, pinned, useful, questionable, lent)
VALUES (:workspace, :item, :count, :at, 0, 0, 0, :lent)
ON CONFLICT (workspace_id, item_id) DO UPDATE SET
    count = CASE WHEN access.count > excluded.count THEN access.count ELSE excluded.count END,
    lent = CASE WHEN access.count > 0 AND access.last_at > excluded.last_at + 999999 THEN access.lent
        WHEN access.last_at <= excluded.last_at + 999999 AND access.last_at + 999999 >= excluded.last_at
        AND access.lent > excluded.lent THEN access.lent ELSE excluded.lent END,
    last_at = CASE WHEN excluded.last_at = 0 OR (access.count > 0 AND access.last_at > excluded.last_at)
        THEN access.last_at ELSE excluded.last_at END;

-- name: access_begin
-- Give memories that come without a record of their use a time from which they fade; one that has a record keeps it.
INSERT INTO access (workspace_id, item_id, count, last_at, pinned, useful, questionable)
VALUES (:workspace, :item, 0, :at, 0, 0, 0)
ON CONFLICT (workspace_id, item_id) DO NOTHING;

-- name: access_lend
-- Put off the fading of a memory that a recall used, unless somebody has read it or lent it more in the meantime.
INSERT INTO access (workspace_id, item_id, count, last_at, pinned, useful, questionable, lent)
VALUES (:workspace, :item, 0, 0, 0, 0, 0, :lent)
ON CONFLICT (workspace_id, item_id) DO UPDATE SET lent = excluded.lent
WHERE access.last_at = :since AND access.lent < excluded.lent;

-- name: relation_add
-- Index a relation in a memory's file.
INSERT INTO relation (workspace_id, memory_id, position, target, type, direction, strength, context, edge_uuid)
VALUES (:workspace, :memory, :position, :target, :type, :direction, :strength, :context, :edge_id);

-- name: relation_drop
-- Remove the relations of memories from the index.
DELETE FROM relation WHERE workspace_id = :workspace AND memory_id IN (:*ids);

-- name: relation_of
-- List the relations of memories in the order of their files.
SELECT memory_id, position, target, type, direction, strength, context, edge_uuid FROM relation
WHERE workspace_id = :workspace AND memory_id IN (:*ids) ORDER BY memory_id, position;

-- name: relation_all
-- List all relations of a graph.
SELECT r.memory_id, m.uuid, r.target, r.type, r.direction, r.strength, r.context, r.edge_uuid FROM relation AS r
JOIN memory AS m ON m.workspace_id = r.workspace_id AND m.id = r.memory_id
WHERE r.workspace_id = :workspace AND m.graph_id = :graph AND m.gone_at IS NULL ORDER BY r.memory_id, r.position;

-- name: relation_count
-- Count the relations of a graph.
SELECT COUNT(*) AS count FROM relation AS r
JOIN memory AS m ON m.workspace_id = r.workspace_id AND m.id = r.memory_id
WHERE r.workspace_id = :workspace AND m.graph_id = :graph AND m.gone_at IS NULL AND r.direction = 'outgoing';

-- name: relation_to
-- Find the memories that refer to one.
SELECT m.uuid, m.path FROM relation AS r
JOIN memory AS m ON m.workspace_id = r.workspace_id AND m.id = r.memory_id
WHERE r.workspace_id = :workspace AND m.graph_id = :graph AND m.gone_at IS NULL AND r.target = :uuid ORDER BY m.id;

-- name: edge_add
-- Index an edge's file.
INSERT INTO edge (workspace_id, id, graph_id, uuid, type, from_uuid, from_title, to_uuid, to_title, strength,
    description, created, updated, path)
VALUES (:workspace, :id, :graph, :uuid, :type, :from_id, :from_title, :to_id, :to_title, :strength, :description, :created,
    :updated, :path);

-- name: edge_change
-- Index an edge's file again.
UPDATE edge SET type = :type, from_uuid = :from_id, from_title = :from_title, to_uuid = :to_id, to_title = :to_title,
    strength = :strength, description = :description, created = :created, updated = :updated, path = :path
WHERE workspace_id = :workspace AND id = :id;

-- name: edge_drop
-- Remove edges from the index.
DELETE FROM edge WHERE workspace_id = :workspace AND id IN (:*ids);

-- name: edge_by_uuid
-- Find edges by the ids in their files.
SELECT id, uuid, type, from_uuid, from_title, to_uuid, to_title, strength, description, created, updated, path
FROM edge WHERE workspace_id = :workspace AND graph_id = :graph AND uuid IN (:*uuids);

-- name: edge_by_prefix
-- Find edges by the beginning of their ids; three are enough to call it ambiguous.
SELECT uuid FROM edge WHERE workspace_id = :workspace AND graph_id = :graph AND uuid >= :low AND uuid < :high
ORDER BY uuid LIMIT 3;

-- name: edge_of
-- List the edges of a memory, in both directions.
SELECT id, uuid, type, from_uuid, from_title, to_uuid, to_title, strength, description, created, updated, path
FROM edge WHERE workspace_id = :workspace AND graph_id = :graph AND (from_uuid = :uuid OR to_uuid = :uuid) ORDER BY id;

-- name: edge_all
-- List all edges of a graph, newest first.
SELECT id, uuid, type, from_uuid, from_title, to_uuid, to_title, strength, description, created, updated, path
FROM edge WHERE workspace_id = :workspace AND graph_id = :graph ORDER BY updated DESC, id DESC;

-- name: edge_newest
-- List the edges of a graph that were changed last, or last before one of them.
SELECT id, uuid, type, from_uuid, from_title, to_uuid, to_title, strength, description, created, updated, path
FROM edge WHERE workspace_id = :workspace AND graph_id = :graph AND updated <= :updated
    AND (updated < :updated OR id < :before)
ORDER BY updated DESC, id DESC LIMIT :limit;

-- name: edge_count
-- Count the edges of a graph.
SELECT COUNT(*) AS count FROM edge WHERE workspace_id = :workspace AND graph_id = :graph;

-- name: file_all
-- Read what is known about all files.
SELECT path, mtime_ns, size, hash, checked_at, item_id, problem, line FROM graph_file
WHERE workspace_id = :workspace AND graph_id = :graph;

-- name: file_stamps
-- Read what was seen of all files, to find out which have changed.
SELECT path, mtime_ns, size, checked_at, problem FROM graph_file
WHERE workspace_id = :workspace AND graph_id = :graph;

-- name: file_of
-- Read what is known about some files.
SELECT path, mtime_ns, size, hash, checked_at, item_id, problem, line FROM graph_file
WHERE workspace_id = :workspace AND graph_id = :graph AND path IN (:*paths);

-- name: file_below
-- Read what is known about the files of a folder.
SELECT path, mtime_ns, size, hash, checked_at, item_id, problem, line FROM graph_file
WHERE workspace_id = :workspace AND graph_id = :graph AND path >= :low AND path < :high;

-- name: file_problems
-- List the files that cannot be read, and why.
SELECT path, line, problem FROM graph_file
WHERE workspace_id = :workspace AND graph_id = :graph AND problem IS NOT NULL ORDER BY path;

-- name: file_put
-- Record the state of a file when it was indexed.
INSERT INTO graph_file (workspace_id, graph_id, path, mtime_ns, size, hash, checked_at, item_id, problem, line)
VALUES (:workspace, :graph, :path, :mtime_ns, :size, :hash, :checked_at, :item, :problem, :line)
ON CONFLICT (workspace_id, graph_id, path) DO UPDATE SET mtime_ns = excluded.mtime_ns, size = excluded.size,
    hash = excluded.hash, checked_at = excluded.checked_at, item_id = excluded.item_id, problem = excluded.problem,
    line = excluded.line;

-- name: file_touch
-- Record that a file was checked and has not changed.
UPDATE graph_file SET mtime_ns = :mtime_ns, size = :size, checked_at = :checked_at
WHERE workspace_id = :workspace AND graph_id = :graph AND path = :path;

-- name: file_drop
-- Delete the records of files that are gone.
DELETE FROM graph_file WHERE workspace_id = :workspace AND graph_id = :graph AND path IN (:*paths);

-- name: intent_add
-- Record the intent to change several files, so that it can be completed after a crash.
INSERT INTO graph_intent (workspace_id, graph_id, key, stage, plan, at)
VALUES (:workspace, :graph, :key, 'files', :plan, :at);

-- name: intent_all
-- List the changes that were recorded but not completed.
SELECT key, stage, plan, at FROM graph_intent WHERE workspace_id = :workspace AND graph_id = :graph ORDER BY at, key;

-- name: intent_indexed
-- Record that the files of a change are written and indexed; only the commit is left.
UPDATE graph_intent SET stage = 'git' WHERE workspace_id = :workspace AND graph_id = :graph AND key = :key;

-- name: intent_drop
-- Record that a change is complete.
DELETE FROM graph_intent WHERE workspace_id = :workspace AND graph_id = :graph AND key = :key;

-- name: edge_get
-- Read edges by their ids in the store.
SELECT id, graph_id, uuid, type, from_uuid, from_title, to_uuid, to_title, strength, description, created, updated, path
FROM edge WHERE workspace_id = :workspace AND id IN (:*ids);

-- name: memory_drop
-- Delete memories that are forgotten.
DELETE FROM memory WHERE workspace_id = :workspace AND id IN (:*ids);

-- name: insight_on
-- Find the insights that build on some memories.
SELECT DISTINCT m.id FROM relation AS r JOIN memory AS m ON m.workspace_id = r.workspace_id AND m.id = r.memory_id
WHERE r.workspace_id = :workspace AND m.graph_id = :graph AND r.target IN (:*uuids) AND m.type = 'insight'
    AND r.direction = 'outgoing' AND m.gone_at IS NULL;

-- name: memory_newest
-- List the memories of a graph that were changed last, or last before one of them, with their use.
SELECT m.id, m.uuid, m.type, m.title, m.tags, m.importance, m.confidence, m.created, m.updated, m.path, m.in_vault,
    m.archived, m.gone_at, m.graph_id, a.count, a.last_at, a.lent, a.pinned
FROM memory AS m LEFT JOIN access AS a ON a.workspace_id = m.workspace_id AND a.item_id = m.id
WHERE m.workspace_id = :workspace AND m.graph_id = :graph AND m.gone_at IS NULL AND m.updated <= :updated
    AND (m.updated < :updated OR m.id < :before)
ORDER BY m.updated DESC, m.id DESC LIMIT :limit;

-- name: memory_at
-- Find the memory whose file is at a path.
SELECT m.uuid FROM graph_file AS f JOIN memory AS m ON m.workspace_id = f.workspace_id AND m.id = f.item_id
WHERE f.workspace_id = :workspace AND f.graph_id = :graph AND f.path = :path AND m.gone_at IS NULL;

-- name: type_all
-- List the types of a graph's memories.
SELECT DISTINCT type FROM memory WHERE workspace_id = :workspace AND graph_id = :graph AND gone_at IS NULL;

-- name: note_put
-- Record what was assumed about a memory's file.
INSERT INTO plain_note (workspace_id, memory_id, graph_id, hash, has_id, assumed)
VALUES (:workspace, :memory, :graph, :hash, :has_id, :assumed)
ON CONFLICT (workspace_id, memory_id) DO UPDATE SET hash = excluded.hash, has_id = excluded.has_id,
    assumed = excluded.assumed;

-- name: note_drop
-- Forget what was assumed about memories: their files say everything now, or they are forgotten.
DELETE FROM plain_note WHERE workspace_id = :workspace AND memory_id IN (:*ids);

-- name: note_by_hash
-- Find the memories of files that had no id, by the bytes that those had.
SELECT m.id, m.uuid, m.path, m.gone_at, n.hash FROM plain_note AS n
JOIN memory AS m ON m.workspace_id = n.workspace_id AND m.id = n.memory_id
WHERE n.workspace_id = :workspace AND n.graph_id = :graph AND n.hash IN (:*hashes) AND n.has_id = 0 ORDER BY m.id;

-- name: note_without_id
-- Find out which memories have no id in their files yet.
SELECT memory_id FROM plain_note WHERE workspace_id = :workspace AND memory_id IN (:*ids) AND has_id = 0;

-- name: note_all
-- List what was assumed about the files of a graph, by path.
SELECT m.uuid, m.title, m.path, n.has_id, n.assumed FROM plain_note AS n
JOIN memory AS m ON m.workspace_id = n.workspace_id AND m.id = n.memory_id
WHERE n.workspace_id = :workspace AND n.graph_id = :graph AND m.gone_at IS NULL ORDER BY m.path;

-- name: note_count
-- Count the files about which something was assumed, and those without an id.
SELECT COUNT(*) AS assumed, COALESCE(SUM(1 - n.has_id), 0) AS plain FROM plain_note AS n
JOIN memory AS m ON m.workspace_id = n.workspace_id AND m.id = n.memory_id
WHERE n.workspace_id = :workspace AND n.graph_id = :graph AND m.gone_at IS NULL;

-- name: name_add
-- Record a name by which links find a memory.
INSERT INTO memory_name (workspace_id, memory_id, graph_id, key, rank) VALUES (:workspace, :memory, :graph, :key, :rank);

-- name: name_drop
-- Remove the names of memories.
DELETE FROM memory_name WHERE workspace_id = :workspace AND memory_id IN (:*ids);

-- name: name_of
-- List the names of memories.
SELECT memory_id, key FROM memory_name WHERE workspace_id = :workspace AND memory_id IN (:*ids);

-- name: name_by_key
-- Find the memories that have one of these names.
SELECT n.key, n.rank, m.id, m.uuid, m.path, m.title FROM memory_name AS n
JOIN memory AS m ON m.workspace_id = n.workspace_id AND m.id = n.memory_id
WHERE n.workspace_id = :workspace AND n.graph_id = :graph AND n.key IN (:*keys) AND m.gone_at IS NULL;

-- name: name_all
-- List the names to which links of a graph may lead.
SELECT n.key, n.rank, m.id, m.uuid, m.path, m.title FROM memory_name AS n
JOIN memory AS m ON m.workspace_id = n.workspace_id AND m.id = n.memory_id
WHERE n.workspace_id = :workspace AND n.graph_id = :graph AND m.gone_at IS NULL AND EXISTS (
    SELECT 1 FROM text_link AS l WHERE l.workspace_id = n.workspace_id AND l.graph_id = n.graph_id AND l.key = n.key
);

-- name: link_add
-- Record a link in the text of a memory.
INSERT INTO text_link (workspace_id, memory_id, position, graph_id, key, link)
VALUES (:workspace, :memory, :position, :graph, :key, :link);

-- name: link_drop
-- Remove the links of memories.
DELETE FROM text_link WHERE workspace_id = :workspace AND memory_id IN (:*ids);

-- name: link_of
-- List the links in the texts of memories, in order.
SELECT l.key, l.link, m.id, m.uuid, m.path, m.title, m.created, m.updated FROM text_link AS l
JOIN memory AS m ON m.workspace_id = l.workspace_id AND m.id = l.memory_id
WHERE l.workspace_id = :workspace AND l.memory_id IN (:*ids) AND m.gone_at IS NULL ORDER BY l.memory_id, l.position;

-- name: link_by_key
-- List the links that lead to one of these names.
SELECT l.key, l.link, m.id, m.uuid, m.path, m.title, m.created, m.updated FROM text_link AS l
JOIN memory AS m ON m.workspace_id = l.workspace_id AND m.id = l.memory_id
WHERE l.workspace_id = :workspace AND l.graph_id = :graph AND l.key IN (:*keys) AND m.gone_at IS NULL
ORDER BY l.memory_id, l.position;

-- name: link_all
-- List all links in the texts of a graph.
SELECT l.key, l.link, m.id, m.uuid, m.path, m.title, m.created, m.updated FROM text_link AS l
JOIN memory AS m ON m.workspace_id = l.workspace_id AND m.id = l.memory_id
WHERE l.workspace_id = :workspace AND l.graph_id = :graph AND m.gone_at IS NULL ORDER BY l.memory_id, l.position;

-- name: link_count
-- Count the links in the texts of a graph.
SELECT COUNT(*) AS count FROM text_link WHERE workspace_id = :workspace AND graph_id = :graph;
