-- Statements of what is taken in from elsewhere. `:workspace` is always the workspace of the unit of work.

-- name: source_by_place
-- Find a source by the hash of its format and place.
SELECT id, format, place, started_at, changed_at, undone_at FROM import_source
WHERE workspace_id = :workspace AND place_key = :place_key;

-- name: source_add
-- Record a source.
INSERT INTO import_source (workspace_id, id, format, place, place_key, started_at, changed_at)
VALUES (:workspace, :id, :format, :place, :place_key, :at, :at);

-- name: source_touch
-- Record that something was taken in from a source.
UPDATE import_source SET place = :place, changed_at = :at, undone_at = NULL WHERE workspace_id = :workspace AND id = :id;

-- name: source_undone
-- Record that what came from a source was forgotten.
UPDATE import_source SET undone_at = :at WHERE workspace_id = :workspace AND id = :id;

-- name: source_of
-- Read one source, with how many of its items there still are.
SELECT s.id, s.format, s.place, s.started_at, s.changed_at, s.undone_at,
    (SELECT COUNT(*) FROM import_item AS i JOIN item AS x ON x.workspace_id = i.workspace_id AND x.id = i.item_id
        WHERE i.workspace_id = :workspace AND i.source_id = s.id AND i.is_own = 1) AS items
FROM import_source AS s WHERE s.workspace_id = :workspace AND s.id = :id;

-- name: source_recent
-- List sources, the latest first, with how many of their items there still are.
SELECT s.id, s.format, s.place, s.started_at, s.changed_at, s.undone_at,
    (SELECT COUNT(*) FROM import_item AS i JOIN item AS x ON x.workspace_id = i.workspace_id AND x.id = i.item_id
        WHERE i.workspace_id = :workspace AND i.source_id = s.id AND i.is_own = 1) AS items
FROM import_source AS s WHERE s.workspace_id = :workspace ORDER BY s.changed_at DESC, s.id DESC LIMIT :limit;

-- name: source_places
-- Read the places of all sources.
SELECT id, place FROM import_source WHERE workspace_id = :workspace AND place <> '' ORDER BY id;

-- name: source_blank
-- Empty the place of a source.
UPDATE import_source SET place = '' WHERE workspace_id = :workspace AND id = :id;

-- name: part_get
-- Read how far a file was read.
SELECT position, size, stamp, head, is_done FROM import_part WHERE workspace_id = :workspace AND part_key = :part;

-- name: part_put
-- Record how far a file was read.
INSERT INTO import_part (workspace_id, part_key, position, size, stamp, head, is_done)
VALUES (:workspace, :part, :position, :size, :stamp, :head, :is_done)
ON CONFLICT (workspace_id, part_key) DO UPDATE
SET position = :position, size = :size, stamp = :stamp, head = :head, is_done = :is_done;

-- name: part_drop
-- Let the files of a source be read from their beginning again.
DELETE FROM import_part WHERE workspace_id = :workspace AND part_key IN (
    SELECT part_key FROM import_item WHERE workspace_id = :workspace AND source_id = :source);

-- name: item_known
-- Read what records became: whether the item is there, or was forgotten and may not come back.
SELECT i.record_key, i.item_id, x.id AS present_id,
    (SELECT COUNT(*) FROM tombstone AS t
        WHERE t.workspace_id = :workspace AND t.item_id = i.item_id AND t.lifted_at IS NULL) AS buried
FROM import_item AS i LEFT JOIN item AS x ON x.workspace_id = i.workspace_id AND x.id = i.item_id
WHERE i.workspace_id = :workspace AND i.record_key IN (:*keys);

-- name: item_put
-- Record what a record became; whoever comes second with the same item leaves it to the first.
INSERT INTO import_item (workspace_id, record_key, item_id, source_id, part_key, is_own)
VALUES (:workspace, :record, :item, :source, :part, :is_own)
ON CONFLICT (workspace_id, record_key) DO UPDATE
SET item_id = :item, source_id = :source, part_key = :part, is_own = :is_own
WHERE import_item.item_id <> :item;

-- name: item_approved
-- Record that what waited for review has become an item of its own.
UPDATE import_item SET item_id = :item, is_own = :is_own WHERE workspace_id = :workspace AND item_id = :held;

-- name: item_of_source
-- List the items that there are because of a source, oldest first.
SELECT i.item_id AS id FROM import_item AS i JOIN item AS x ON x.workspace_id = i.workspace_id AND x.id = i.item_id
WHERE i.workspace_id = :workspace AND i.source_id = :source AND i.is_own = 1 AND i.item_id > :after
ORDER BY i.item_id LIMIT :limit;

-- name: item_of_part
-- List the current passages that came from a file.
SELECT i.record_key, i.item_id FROM import_item AS i
JOIN document AS d ON d.workspace_id = i.workspace_id AND d.item_id = i.item_id
WHERE i.workspace_id = :workspace AND i.part_key = :part AND i.is_own = 1 AND d.kind = 'note'
    AND d.retired_at IS NULL;

-- name: item_rename
-- Give up the name of a record that is no longer in its file; its item stays known as one of the source.
UPDATE import_item SET record_key = :fresh WHERE workspace_id = :workspace AND record_key = :record;

-- name: session_span
-- Let a session last from the first to the last of what was said in it.
UPDATE session SET started_at = CASE WHEN started_at > :begin THEN :begin ELSE started_at END,
    seen_at = CASE WHEN seen_at < :end THEN :end ELSE seen_at END
WHERE workspace_id = :workspace AND id = :id;
