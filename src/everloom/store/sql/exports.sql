-- What the pages of an export show to people, a page at a time.

-- name: subject_page
-- Page through the subjects, each with the texts of what is understood of it.
SELECT s.id, s.name, s.summary, d.text AS single, t.text AS structural
FROM subject AS s
LEFT JOIN document AS d ON d.workspace_id = s.workspace_id AND d.item_id = s.single_understanding_id
LEFT JOIN document AS t ON t.workspace_id = s.workspace_id AND t.item_id = s.structural_understanding_id
WHERE s.workspace_id = :workspace AND s.id > :after ORDER BY s.id LIMIT :limit;

-- name: name_all
-- List the other names of a subject.
SELECT name FROM subject_name WHERE workspace_id = :workspace AND subject_id = :subject AND is_alias = 1 ORDER BY name_key;

-- name: tag_all
-- List the tags of a subject.
SELECT tag FROM subject_tag WHERE workspace_id = :workspace AND subject_id = :subject ORDER BY position, tag_key;

-- name: observation_page
-- Page through the observations of a subject.
SELECT o.id, o.kind, o.superseded_at, d.text, d.origin, d.happened_at
FROM observation_subject AS b
JOIN observation AS o ON o.workspace_id = b.workspace_id AND o.id = b.observation_id
JOIN document AS d ON d.workspace_id = b.workspace_id AND d.item_id = b.observation_id
WHERE b.workspace_id = :workspace AND b.subject_id = :subject AND b.observation_id > :after
ORDER BY b.observation_id LIMIT :limit;

-- name: lone_page
-- Page through the observations that have no subject.
SELECT o.id, o.kind, o.superseded_at, d.text, d.origin, d.happened_at
FROM observation AS o JOIN document AS d ON d.workspace_id = o.workspace_id AND d.item_id = o.id
WHERE o.workspace_id = :workspace AND o.subject_set = '' AND o.id > :after ORDER BY o.id LIMIT :limit;

-- name: understanding_page
-- Page through the understandings that are not superseded.
SELECT u.id, u.kind, u.subject_set, d.title, d.text, d.origin, d.happened_at
FROM understanding AS u JOIN document AS d ON d.workspace_id = u.workspace_id AND d.item_id = u.id
WHERE u.workspace_id = :workspace AND u.superseded_by IS NULL AND u.id > :after ORDER BY u.id LIMIT :limit;

-- name: scene_page
-- Page through the scenes with how they live.
SELECT s.id, s.action, s.feeling, s.themes, d.happened_at, d.origin, l.status, l.importance
FROM scene AS s
JOIN document AS d ON d.workspace_id = s.workspace_id AND d.item_id = s.id
JOIN scene_life AS l ON l.workspace_id = s.workspace_id AND l.scene_id = s.id
WHERE s.workspace_id = :workspace AND s.id > :after ORDER BY s.id LIMIT :limit;

-- name: entry_page
-- Page through what a Being keeps under a key.
SELECT id, target, entry_key, title, content, updated_at FROM entry
WHERE workspace_id = :workspace AND id > :after ORDER BY id LIMIT :limit;

-- name: message_page
-- Page through the conversation.
SELECT id, direction, channel, text, at FROM message
WHERE workspace_id = :workspace AND id > :after ORDER BY id LIMIT :limit;

-- name: relation_page
-- Page through the pairs of subjects that share something, with what is understood of it.
SELECT i.subject_a, i.subject_b, a.name AS first, b.name AS second, i.observation_count, d.text
FROM intersection AS i
JOIN subject AS a ON a.workspace_id = i.workspace_id AND a.id = i.subject_a
JOIN subject AS b ON b.workspace_id = i.workspace_id AND b.id = i.subject_b
LEFT JOIN document AS d ON d.workspace_id = i.workspace_id AND d.item_id = i.understanding_id
WHERE i.workspace_id = :workspace AND (i.subject_a > :after OR (i.subject_a = :after AND i.subject_b > :beside))
ORDER BY i.subject_a, i.subject_b LIMIT :limit;

-- name: memory_page
-- Page through the memories of graphs whose files are there.
SELECT m.id, m.uuid, m.type, m.title, m.created, m.updated, d.text
FROM memory AS m JOIN document AS d ON d.workspace_id = m.workspace_id AND d.item_id = m.id
WHERE m.workspace_id = :workspace AND m.gone_at IS NULL AND m.id > :after ORDER BY m.id LIMIT :limit;

-- name: edge_page
-- Page through the relations between memories of graphs.
SELECT id, type, from_uuid, from_title, to_uuid, to_title, description, created, updated FROM edge
WHERE workspace_id = :workspace AND id > :after ORDER BY id LIMIT :limit;

-- name: all_observations
-- Page through all observations that still hold.
SELECT o.id, o.kind, o.subject_set, d.text, d.origin, d.happened_at
FROM observation AS o JOIN document AS d ON d.workspace_id = o.workspace_id AND d.item_id = o.id
WHERE o.workspace_id = :workspace AND o.superseded_at IS NULL AND o.id > :after ORDER BY o.id LIMIT :limit;

-- name: note_page
-- Page through the notes as they were last written.
SELECT n.id, n.name, v.body, v.at FROM mind_note AS n
JOIN mind_note_version AS v ON v.workspace_id = n.workspace_id AND v.note_id = n.id
WHERE n.workspace_id = :workspace AND n.id > :after AND n.body_hash <> '' AND v.number = (
    SELECT MAX(l.number) FROM mind_note_version AS l WHERE l.workspace_id = :workspace AND l.note_id = n.id)
ORDER BY n.id LIMIT :limit;
