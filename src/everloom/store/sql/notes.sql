-- Statements of the notes. A version is never changed, and deleted only when the whole note is forgotten.

-- name: note_all
-- List the notes with what is known about their files.
SELECT id, name, body_hash, next_hash, changed_at FROM mind_note WHERE workspace_id = :workspace ORDER BY name;

-- name: note_by_name
-- Read a note with its newest version.
SELECT n.id, n.name, n.body_hash, n.next_hash, n.changed_at, v.number, v.body, v.author, v.at
FROM mind_note AS n JOIN mind_note_version AS v ON v.workspace_id = n.workspace_id AND v.note_id = n.id
WHERE n.workspace_id = :workspace AND n.name = :name ORDER BY v.number DESC LIMIT 1;

-- name: note_add
-- Add a note that has no version yet.
INSERT INTO mind_note (workspace_id, id, name, body_hash, next_hash, changed_at)
VALUES (:workspace, :id, :name, '', NULL, :at);

-- name: note_mark
-- Record which text the file of a note contains, and which is about to be written to it.
UPDATE mind_note SET body_hash = :known, next_hash = :coming, changed_at = :at WHERE workspace_id = :workspace AND id = :id;

-- name: note_reset
-- Mark every note to be written to its file again.
-- Used when the directory is missing.
UPDATE mind_note SET next_hash = COALESCE(next_hash, body_hash), body_hash = ''
WHERE workspace_id = :workspace AND (body_hash <> '' OR next_hash IS NOT NULL);

-- name: version_add
-- Add a version of a note.
INSERT INTO mind_note_version (workspace_id, note_id, number, body, author, at)
VALUES (:workspace, :id, :number, :body, :author, :at);

-- name: version_of
-- List the versions of a note before one, newest first.
SELECT v.number, v.body, v.author, v.at
FROM mind_note AS n JOIN mind_note_version AS v ON v.workspace_id = n.workspace_id AND v.note_id = n.id
WHERE n.workspace_id = :workspace AND n.name = :name AND v.number < :before ORDER BY v.number DESC LIMIT :limit;

-- name: version_marks
-- List the versions of a note before one, newest first, without their texts.
SELECT v.number, v.author, v.at, LENGTH(v.body) AS characters
FROM mind_note AS n JOIN mind_note_version AS v ON v.workspace_id = n.workspace_id AND v.note_id = n.id
WHERE n.workspace_id = :workspace AND n.name = :name AND v.number < :before ORDER BY v.number DESC LIMIT :limit;

-- name: version_get
-- Read one version of a note.
SELECT v.number, v.body, v.author, v.at
FROM mind_note AS n JOIN mind_note_version AS v ON v.workspace_id = n.workspace_id AND v.note_id = n.id
WHERE n.workspace_id = :workspace AND n.name = :name AND v.number = :number;

-- name: note_of
-- Read notes by their ids.
SELECT id, name, body_hash, next_hash FROM mind_note WHERE workspace_id = :workspace AND id IN (:*ids);

-- name: versions_of
-- Read all versions of notes.
SELECT note_id, number, body FROM mind_note_version WHERE workspace_id = :workspace AND note_id IN (:*ids)
ORDER BY note_id, number;

-- name: version_purge
-- Delete all versions of notes that are forgotten.
DELETE FROM mind_note_version WHERE workspace_id = :workspace AND note_id IN (:*ids);

-- name: note_drop
-- Delete notes that are forgotten, once their files are gone.
DELETE FROM mind_note WHERE workspace_id = :workspace AND id IN (:*ids);

-- name: note_forgotten
-- Find notes that were forgotten by a process that died before their files were gone.
SELECT n.id, n.name FROM mind_note AS n
JOIN tombstone AS t ON t.workspace_id = n.workspace_id AND t.item_id = n.id
WHERE n.workspace_id = :workspace;

-- name: version_purge_before
-- Delete the versions of a note before one, whose words were forgotten.
DELETE FROM mind_note_version WHERE workspace_id = :workspace AND note_id = :id AND number < :number;
