-- Statements of semantic memory. A subject or an intersection waits while it changed through a later id than it is settled;
-- that condition is written exactly as in the partial indexes, so that what is settled costs nothing.

-- name: clock
-- Read the newest id, which is the time in this workspace.
SELECT COALESCE(MAX(id), 0) AS id FROM item WHERE workspace_id = :workspace;

-- name: workspace_ensure
-- Create the row of semantic memory in this workspace on first use.
INSERT INTO semantic_workspace (workspace_id, current_generation, consolidated_through) VALUES (:workspace, 0, 0)
ON CONFLICT (workspace_id) DO NOTHING;

-- name: workspace_get
-- Read the soul, the orientation and the progress of consolidation.
SELECT soul_id, protocol_id, orientation_id, current_generation, begun_through, consolidated_through, finished_through,
    last_consolidated_at
FROM semantic_workspace WHERE workspace_id = :workspace;

-- name: workspace_point
-- Point to the text that is now the soul, the protocol or the orientation.
UPDATE semantic_workspace SET
    soul_id = CASE WHEN :kind = 'soul' THEN :id ELSE soul_id END,
    protocol_id = CASE WHEN :kind = 'protocol' THEN :id ELSE protocol_id END,
    orientation_id = CASE WHEN :kind = 'orientation' THEN :id ELSE orientation_id END
WHERE workspace_id = :workspace;

-- name: workspace_begin
-- Start a generation of consolidation, up to an id.
UPDATE semantic_workspace SET current_generation = current_generation + 1, begun_through = :through
WHERE workspace_id = :workspace;

-- name: workspace_finish
-- Close a generation: everything up to the id where it started is consolidated.
UPDATE semantic_workspace SET consolidated_through = begun_through, begun_through = NULL, finished_through = :through,
    last_consolidated_at = :at
WHERE workspace_id = :workspace;

-- name: subject_add
-- Add a subject without observations.
INSERT INTO subject (workspace_id, id, name, summary, version, observation_count, observed_through, reviewed_through,
    settled_through)
VALUES (:workspace, :id, :name, :summary, 1, 0, 0, 0, 0);

-- name: subject_name_add
-- Give a subject a name or an alias.
INSERT INTO subject_name (workspace_id, name_key, name, subject_id, is_alias)
VALUES (:workspace, :name_key, :name, :subject, :is_alias);

-- name: subject_name_drop
-- Remove an alias from a subject; its name cannot be removed.
DELETE FROM subject_name WHERE workspace_id = :workspace AND name_key = :name_key AND subject_id = :subject AND is_alias = 1;

-- name: subject_name_move
-- Turn all names of a merged subject into aliases of another.
UPDATE subject_name SET subject_id = :new, is_alias = 1 WHERE workspace_id = :workspace AND subject_id = :old;

-- name: subject_name_of
-- List the names of subjects, aliases last.
SELECT subject_id, name, name_key, is_alias FROM subject_name
WHERE workspace_id = :workspace AND subject_id IN (:*ids) ORDER BY is_alias, name_key;

-- name: subject_names_by_key
-- Find subjects by any of their names, once for each name that they have, aliases last.
SELECT o.name_key, o.name AS label, s.id, s.name, s.summary, s.version, s.single_understanding_id,
    s.structural_understanding_id
FROM subject_name AS o JOIN subject AS s ON s.workspace_id = o.workspace_id AND s.id = o.subject_id
WHERE o.workspace_id = :workspace AND o.subject_id IN (
    SELECT n.subject_id FROM subject_name AS n WHERE n.workspace_id = :workspace AND n.name_key IN (:*keys))
ORDER BY o.is_alias, o.name_key;

-- name: subject_name_near
-- Find names that may differ by a typo: about as long, with the same beginning or end.
SELECT name_key, name, subject_id FROM subject_name
WHERE workspace_id = :workspace AND LENGTH(name_key) BETWEEN :shortest AND :longest
    AND (SUBSTR(name_key, 1, 2) = :head OR SUBSTR(name_key, LENGTH(name_key) - 2) = :tail)
LIMIT 2000;

-- name: subject_name_foreign
-- Find names that may look like another: about as long, with a character outside ASCII unless every one is asked for.
SELECT name, subject_id FROM subject_name
WHERE workspace_id = :workspace AND LENGTH(name_key) BETWEEN :shortest AND :longest
    AND (:every = 1 OR LENGTH(CAST(name AS BLOB)) <> LENGTH(name))
LIMIT 2000;

-- name: subject_name_within
-- Find names that contain a string, the shortest first.
SELECT name_key, name, subject_id FROM subject_name
WHERE workspace_id = :workspace AND name_key LIKE :pattern ESCAPE '\' ORDER BY LENGTH(name_key), name_key LIMIT :limit;

-- name: subject_named
-- Find a subject by one of its names.
SELECT s.id, s.name, s.summary, s.version, s.single_understanding_id, s.structural_understanding_id
FROM subject_name AS n JOIN subject AS s ON s.workspace_id = n.workspace_id AND s.id = n.subject_id
WHERE n.workspace_id = :workspace AND n.name_key = :key;

-- name: subject_by_key
-- Find subjects by any of their names.
SELECT n.name_key, s.id, s.name, s.summary, s.version, s.single_understanding_id, s.structural_understanding_id,
    s.observation_count, s.last_observed_at, s.observed_through, s.reviewed_through, s.settled_through
FROM subject_name AS n JOIN subject AS s ON s.workspace_id = n.workspace_id AND s.id = n.subject_id
WHERE n.workspace_id = :workspace AND n.name_key IN (:*keys);

-- name: subject_of
-- Read subjects.
SELECT s.id, s.name, s.summary, s.version, s.single_understanding_id, s.structural_understanding_id,
    s.observation_count, s.last_observed_at, s.observed_through, s.reviewed_through, s.settled_through, i.created_at
FROM subject AS s JOIN item AS i ON i.workspace_id = s.workspace_id AND i.id = s.id
WHERE s.workspace_id = :workspace AND s.id IN (:*ids) ORDER BY s.id;

-- name: subject_ids
-- List subjects, newest first, with their understandings.
SELECT id, single_understanding_id FROM subject WHERE workspace_id = :workspace ORDER BY id DESC LIMIT :limit;

-- name: subject_count
-- Count the subjects.
SELECT COUNT(*) AS count FROM subject WHERE workspace_id = :workspace;

-- name: subject_summarise
-- Rewrite the summary of a subject.
UPDATE subject SET summary = :summary, version = version + 1 WHERE workspace_id = :workspace AND id = :id;

-- name: subject_touch
-- Count a change of subjects, so that editors notice it.
UPDATE subject SET version = version + 1 WHERE workspace_id = :workspace AND id IN (:*ids);

-- name: subject_observed
-- Count observations that are new for a subject.
UPDATE subject SET observation_count = observation_count + :count, observed_through = :through,
    last_observed_at = CASE WHEN last_observed_at > :at THEN last_observed_at ELSE :at END
WHERE workspace_id = :workspace AND id = :id;

-- name: subject_recount
-- Recount the observations of subjects after some were deleted or moved.
UPDATE subject SET
    observation_count = (SELECT COUNT(*) FROM observation_subject AS o
        WHERE o.workspace_id = :workspace AND o.subject_id = subject.id),
    observed_through = COALESCE((SELECT MAX(o.since_id) FROM observation_subject AS o
        WHERE o.workspace_id = :workspace AND o.subject_id = subject.id), 0),
    last_observed_at = (SELECT MAX(d.happened_at) FROM observation_subject AS o
        JOIN document AS d ON d.workspace_id = o.workspace_id AND d.item_id = o.observation_id
        WHERE o.workspace_id = :workspace AND o.subject_id = subject.id)
WHERE workspace_id = :workspace AND id IN (:*ids);

-- name: subject_redate
-- Find the latest date of the observations of subjects anew, after that of one of them was set.
UPDATE subject SET last_observed_at = (SELECT MAX(d.happened_at) FROM observation_subject AS o
    JOIN document AS d ON d.workspace_id = o.workspace_id AND d.item_id = o.observation_id
    WHERE o.workspace_id = :workspace AND o.subject_id = subject.id)
WHERE workspace_id = :workspace
    AND id IN (SELECT subject_id FROM observation_subject WHERE workspace_id = :workspace AND observation_id = :observation);

-- name: subject_unpoint
-- Clear the pointers of subjects to understandings that were replaced.
UPDATE subject SET
    single_understanding_id = CASE WHEN single_understanding_id IN (:*old) THEN NULL ELSE single_understanding_id END,
    structural_understanding_id =
        CASE WHEN structural_understanding_id IN (:*old) THEN NULL ELSE structural_understanding_id END
WHERE workspace_id = :workspace AND id IN (
    SELECT u.subject_id FROM understanding_subject AS u
    WHERE u.workspace_id = :workspace AND u.understanding_id IN (:*old));

-- name: subject_point_single
-- Point a subject to its understanding.
UPDATE subject SET single_understanding_id = :understanding WHERE workspace_id = :workspace AND id = :id;

-- name: subject_point_structural
-- Point a subject to the understanding of its structure.
UPDATE subject SET structural_understanding_id = :understanding WHERE workspace_id = :workspace AND id = :id;

-- name: subject_review
-- Record that subjects were reviewed up to an id, whether or not anything was written.
UPDATE subject SET reviewed_through = :through
WHERE workspace_id = :workspace AND id IN (:*ids) AND reviewed_through < :through;

-- name: subject_settle
-- Compute up to which id a subject is settled: reviewed or understood, whichever is later.
UPDATE subject SET settled_through = CASE
    WHEN reviewed_through > COALESCE((SELECT u.seen_through_id FROM understanding AS u
        WHERE u.workspace_id = :workspace AND u.id = subject.single_understanding_id), 0) THEN reviewed_through
    ELSE COALESCE((SELECT u.seen_through_id FROM understanding AS u
        WHERE u.workspace_id = :workspace AND u.id = subject.single_understanding_id), 0) END
WHERE workspace_id = :workspace AND id IN (:*ids);

-- name: subject_drop
-- Delete a subject that was merged into another.
DELETE FROM subject WHERE workspace_id = :workspace AND id = :id;

-- name: subject_waiting
-- List subjects with observations that their understanding has not seen, and how old those are.
SELECT s.id, s.name, s.single_understanding_id, s.observation_count, s.settled_through,
    COUNT(o.observation_id) AS fresh, MIN(x.generation) AS oldest, MAX(x.generation) AS newest
FROM subject AS s
LEFT JOIN observation_subject AS o ON o.workspace_id = s.workspace_id AND o.subject_id = s.id
    AND o.since_id > s.settled_through
LEFT JOIN observation AS x ON x.workspace_id = o.workspace_id AND x.id = o.observation_id
WHERE s.workspace_id = :workspace AND s.observed_through > s.settled_through
GROUP BY s.id, s.name, s.single_understanding_id, s.observation_count, s.settled_through ORDER BY s.id;

-- name: subject_waiting_count
-- Count the subjects that wait for consolidation.
SELECT COUNT(*) AS count FROM subject AS s WHERE s.workspace_id = :workspace AND s.observed_through > s.settled_through;

-- name: subject_waiting_some
-- List the first subjects that wait after one, and how much of each is new, up to a bound.
SELECT s.id, s.name, s.single_understanding_id, s.observation_count,
    (SELECT COUNT(*) FROM (SELECT 1 FROM observation_subject AS o
        WHERE o.workspace_id = :workspace AND o.subject_id = s.id AND o.since_id > s.settled_through
        LIMIT :most) AS f) AS fresh,
    (SELECT x.generation FROM observation_subject AS o
        JOIN observation AS x ON x.workspace_id = o.workspace_id AND x.id = o.observation_id
        WHERE o.workspace_id = :workspace AND o.subject_id = s.id AND o.since_id > s.settled_through
        ORDER BY o.since_id LIMIT 1) AS oldest
FROM subject AS s
WHERE s.workspace_id = :workspace AND s.observed_through > s.settled_through AND s.id > :after
ORDER BY s.id LIMIT :limit;

-- name: subject_waiting_latest
-- List those that wait among the subjects that were observed last, and how much of each is new, up to a bound.
SELECT s.id, s.name, s.single_understanding_id, s.observation_count,
    (SELECT COUNT(*) FROM (SELECT 1 FROM observation_subject AS o
        WHERE o.workspace_id = :workspace AND o.subject_id = s.id AND o.since_id > s.settled_through
        LIMIT :most) AS f) AS fresh,
    (SELECT x.generation FROM observation_subject AS o
        JOIN observation AS x ON x.workspace_id = o.workspace_id AND x.id = o.observation_id
        WHERE o.workspace_id = :workspace AND o.subject_id = s.id AND o.since_id > s.settled_through
        ORDER BY o.since_id LIMIT 1) AS oldest
FROM (SELECT * FROM subject AS l WHERE l.workspace_id = :workspace
    ORDER BY l.observed_through DESC LIMIT :limit) AS s
WHERE s.observed_through > s.settled_through ORDER BY s.id;

-- name: subject_waiting_capped
-- Count the subjects that wait for consolidation, up to a bound.
SELECT COUNT(*) AS count FROM (SELECT 1 FROM subject AS s
    WHERE s.workspace_id = :workspace AND s.observed_through > s.settled_through LIMIT :most) AS f;

-- name: subject_observed_since
-- List subjects that were observed since a pass began, newest first, unless that pass has read what is new.
SELECT name FROM subject WHERE workspace_id = :workspace AND observed_through > :after
    AND (observed_through > :finished OR observed_through > settled_through)
ORDER BY observed_through DESC LIMIT :limit;

-- name: subject_understood_since
-- List subjects whose understanding was written since an id, newest first.
SELECT s.name, MAX(u.id) AS newest FROM understanding AS u
JOIN understanding_subject AS t ON t.workspace_id = u.workspace_id AND t.understanding_id = u.id
JOIN subject AS s ON s.workspace_id = t.workspace_id AND s.id = t.subject_id
WHERE u.workspace_id = :workspace AND u.id > :after AND u.superseded_by IS NULL
GROUP BY s.name ORDER BY newest DESC LIMIT :limit;

-- name: tag_add
-- Give a subject a tag.
INSERT INTO subject_tag (workspace_id, tag_key, subject_id, tag, position)
VALUES (:workspace, :tag_key, :subject, :tag, :position) ON CONFLICT DO NOTHING;

-- name: tag_drop
-- Remove all tags from a subject.
DELETE FROM subject_tag WHERE workspace_id = :workspace AND subject_id = :subject;

-- name: tag_of
-- List the tags of subjects in order.
SELECT subject_id, tag, tag_key FROM subject_tag
WHERE workspace_id = :workspace AND subject_id IN (:*ids) ORDER BY subject_id, position;

-- name: tag_subjects
-- List the subjects with a tag after one, oldest first.
SELECT subject_id FROM subject_tag WHERE workspace_id = :workspace AND tag_key = :tag_key AND subject_id > :after
ORDER BY subject_id LIMIT :limit;

-- name: observation_add
-- Add an observation; its text is a document.
INSERT INTO observation (workspace_id, id, content_hash, kind, generation, session_id, subject_set, tagged_through)
VALUES (:workspace, :id, :hash, :kind, :generation, :session, :subject_set, :id);

-- name: observation_by_hash
-- Find observations that say exactly the same.
SELECT id, content_hash FROM observation WHERE workspace_id = :workspace AND content_hash IN (:*hashes);

-- name: observation_of
-- Read observations with their texts and sessions.
SELECT o.id, o.kind, o.generation, o.subject_set, d.text, d.details, d.confidence, d.model_tier, d.happened_at, d.created_at,
    o.session_id, o.superseded_at, o.superseded_by, s.label AS session, d.origin, d.trust
FROM observation AS o
JOIN document AS d ON d.workspace_id = o.workspace_id AND d.item_id = o.id
LEFT JOIN session AS s ON s.workspace_id = o.workspace_id AND s.id = o.session_id
WHERE o.workspace_id = :workspace AND o.id IN (:*ids) ORDER BY o.id;

-- name: observation_of_kind
-- List the current observations of a kind, newest first.
SELECT id FROM observation
WHERE workspace_id = :workspace AND kind = :kind AND superseded_at IS NULL AND id < :before ORDER BY id DESC LIMIT :limit;

-- name: observation_prunable
-- Read the current observations of a kind with everything that decides whether they may be set aside.
-- `is_learnt`: it rests on an exchange, and is not what a person put in the place of one.
SELECT o.id, o.subject_set, d.text, d.confidence, d.created_at, d.origin, COALESCE(a.count, 0) AS uses,
    COALESCE(a.pinned, 0) AS pinned, COALESCE(a.useful, 0) AS useful,
    CASE WHEN EXISTS (
        SELECT 1 FROM source AS e JOIN item AS i ON i.workspace_id = e.workspace_id AND i.id = e.source_id
        WHERE e.workspace_id = :workspace AND e.item_id = o.id AND i.kind = 'exchange'
    ) AND NOT EXISTS (
        SELECT 1 FROM document AS x
        WHERE x.workspace_id = :workspace AND x.retired_by = o.id AND x.kind = 'exchange'
    ) THEN 1 ELSE 0 END AS is_learnt,
    CASE WHEN EXISTS (
        SELECT 1 FROM linked AS l WHERE l.workspace_id = :workspace AND l.observation_id = o.id
    ) THEN 1 ELSE 0 END AS is_linked
FROM observation AS o
JOIN document AS d ON d.workspace_id = o.workspace_id AND d.item_id = o.id
LEFT JOIN access AS a ON a.workspace_id = o.workspace_id AND a.item_id = o.id
WHERE o.workspace_id = :workspace AND o.kind = :kind AND o.superseded_at IS NULL AND o.id > :after
ORDER BY o.id LIMIT :limit;

-- name: observation_pruned
-- List the observations of a kind that were set aside, newest first, with the event that says why.
SELECT o.id, o.superseded_at, o.superseded_by, e.detail FROM observation AS o
JOIN document AS d ON d.workspace_id = o.workspace_id AND d.item_id = o.id
JOIN event AS e ON e.workspace_id = d.workspace_id AND e.id = d.retired_by
WHERE o.workspace_id = :workspace AND o.kind = :kind AND o.superseded_at IS NOT NULL AND o.id < :before
    AND e.operation = 'prune_facts'
ORDER BY o.id DESC LIMIT :limit;

-- name: observation_pruned_since
-- Count the observations of a kind that were set aside since a moment.
SELECT COUNT(*) AS count FROM observation AS o
JOIN document AS d ON d.workspace_id = o.workspace_id AND d.item_id = o.id
JOIN event AS e ON e.workspace_id = d.workspace_id AND e.id = d.retired_by
WHERE o.workspace_id = :workspace AND o.kind = :kind AND o.superseded_at >= :since AND e.operation = 'prune_facts';

-- name: observation_pruned_into
-- Find the observations that were set aside because others say the same.
SELECT o.id, o.superseded_by FROM observation AS o
JOIN document AS d ON d.workspace_id = o.workspace_id AND d.item_id = o.id
JOIN event AS e ON e.workspace_id = d.workspace_id AND e.id = d.retired_by
WHERE o.workspace_id = :workspace AND o.superseded_by IN (:*ids) AND e.operation = 'prune_facts';

-- name: observation_hash
-- Read the hash of an observation.
SELECT content_hash FROM observation WHERE workspace_id = :workspace AND id = :id;

-- name: observation_take_back
-- Let an observation that was set aside hold again, under the hash that it had before.
UPDATE observation SET superseded_at = NULL, superseded_by = NULL, content_hash = :hash
WHERE workspace_id = :workspace AND id = :id AND superseded_at IS NOT NULL;

-- name: observation_retag
-- Record the set of subjects that an observation is about now.
UPDATE observation SET subject_set = :subject_set, tagged_through = :through WHERE workspace_id = :workspace AND id = :id;

-- name: observation_count
-- Count the observations.
SELECT COUNT(*) AS count FROM observation WHERE workspace_id = :workspace;

-- name: observation_supersede
-- Record that an observation no longer holds.
-- The hash is changed so that the same words can be observed again.
UPDATE observation SET superseded_at = :at, content_hash = content_hash || ':' || id
WHERE workspace_id = :workspace AND id = :id AND superseded_at IS NULL;

-- name: observation_superseded_by
-- Record which observation replaced another.
UPDATE observation SET superseded_by = :by WHERE workspace_id = :workspace AND id = :id;

-- name: observation_superseding
-- Find the replacements of observations that items rest on.
SELECT superseded_by AS id FROM observation AS o JOIN source AS e
    ON e.workspace_id = o.workspace_id AND e.source_id = o.id AND e.item_id = o.superseded_by
WHERE e.workspace_id = :workspace AND e.item_id IN (:*ids);

-- name: observation_drop
-- Delete observations.
DELETE FROM observation WHERE workspace_id = :workspace AND id IN (:*ids);

-- name: observation_same_subjects
-- List observations about exactly these subjects that were tagged before an id.
SELECT id FROM observation
WHERE workspace_id = :workspace AND subject_set = :subject_set AND tagged_through <= :through;

-- name: observation_recent
-- List the newest observations about a subject that still hold.
SELECT o.observation_id AS id FROM observation_subject AS o
JOIN observation AS x ON x.workspace_id = o.workspace_id AND x.id = o.observation_id AND x.superseded_at IS NULL
WHERE o.workspace_id = :workspace AND o.subject_id = :subject ORDER BY o.observation_id DESC LIMIT :limit;

-- name: observation_in_session
-- List the observations of a session after one, oldest first.
SELECT id FROM observation WHERE workspace_id = :workspace AND session_id = :session AND id > :after ORDER BY id LIMIT :limit;

-- name: turn_in_session
-- List what was said in a session that was imported, in order.
SELECT item_id AS id, text, happened_at AS said_at, origin FROM document
WHERE workspace_id = :workspace AND session_id = :session AND kind = 'turn' AND retired_at IS NULL
ORDER BY happened_at, item_id LIMIT :limit;

-- name: observation_in_session_newest
-- List the observations of a session, newest first.
SELECT id FROM observation WHERE workspace_id = :workspace AND session_id = :session ORDER BY id DESC LIMIT :limit;

-- name: understanding_in_session
-- List the understandings that a session wrote, newest first.
SELECT u.id FROM document AS d JOIN understanding AS u ON u.workspace_id = d.workspace_id AND u.id = d.item_id
WHERE d.workspace_id = :workspace AND d.session_id = :session AND d.kind = 'understanding'
ORDER BY u.id DESC LIMIT :limit;

-- name: subject_in_session
-- List the subjects of a session's observations, the latest first.
SELECT s.name, MAX(o.id) AS newest FROM observation AS o
JOIN observation_subject AS t ON t.workspace_id = o.workspace_id AND t.observation_id = o.id
JOIN subject AS s ON s.workspace_id = t.workspace_id AND s.id = t.subject_id
WHERE o.workspace_id = :workspace AND o.session_id = :session
GROUP BY s.name ORDER BY newest DESC LIMIT :limit;

-- name: seen_count
-- Count what a session was shown.
SELECT COUNT(*) AS count FROM seen WHERE workspace_id = :workspace AND session_id = :session;

-- name: observation_tag_add
-- Record that an observation is about a subject, since an id.
INSERT INTO observation_subject (workspace_id, observation_id, subject_id, since_id)
VALUES (:workspace, :observation, :subject, :since) ON CONFLICT DO NOTHING;

-- name: observation_tag_drop
-- Remove deleted observations from their subjects.
DELETE FROM observation_subject WHERE workspace_id = :workspace AND observation_id IN (:*ids);

-- name: observation_tag_clear
-- Remove all observations from a subject that was merged.
DELETE FROM observation_subject WHERE workspace_id = :workspace AND subject_id = :subject;

-- name: observation_tag_renew
-- Mark all observations of a subject as new for it.
UPDATE observation_subject SET since_id = :since WHERE workspace_id = :workspace AND subject_id = :subject;

-- name: observation_tag_touch
-- Mark an observation as new for all its subjects.
UPDATE observation_subject SET since_id = :since WHERE workspace_id = :workspace AND observation_id = :observation;

-- name: observation_tags
-- List the subjects of observations.
SELECT o.observation_id AS item_id, o.subject_id, o.since_id, s.name FROM observation_subject AS o
JOIN subject AS s ON s.workspace_id = o.workspace_id AND s.id = o.subject_id
WHERE o.workspace_id = :workspace AND o.observation_id IN (:*ids) ORDER BY o.observation_id, o.subject_id;

-- name: observation_tagged
-- List the observations of a subject, and since when each is tagged.
SELECT observation_id AS id, since_id FROM observation_subject
WHERE workspace_id = :workspace AND subject_id = :subject ORDER BY observation_id;

-- name: observation_tagged_all
-- List the newest observations that are about all of some subjects and still hold.
SELECT o.observation_id AS id FROM observation_subject AS o
WHERE o.workspace_id = :workspace AND o.subject_id IN (:*subjects)
    AND NOT EXISTS (SELECT 1 FROM observation AS x WHERE x.workspace_id = :workspace
        AND x.id = o.observation_id AND x.superseded_at IS NOT NULL)
GROUP BY o.observation_id HAVING COUNT(*) = :count ORDER BY o.observation_id DESC LIMIT :limit;

-- name: observation_page
-- Page through the observations that are about all of some subjects.
SELECT observation_id AS id FROM observation_subject
WHERE workspace_id = :workspace AND subject_id IN (:*subjects) AND observation_id > :after
GROUP BY observation_id HAVING COUNT(*) = :count ORDER BY observation_id LIMIT :limit;

-- name: observation_unlinked
-- List the newest observations that hold, that no understanding cites and that nobody dismissed.
-- CROSS JOIN keeps SQLite from starting with all understandings.
SELECT o.id FROM observation AS o
WHERE o.workspace_id = :workspace AND o.placed = 0 AND o.superseded_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM source AS e CROSS JOIN understanding AS u
        WHERE e.workspace_id = :workspace AND e.source_id = o.id
            AND u.workspace_id = e.workspace_id AND u.id = e.item_id AND u.superseded_by IS NULL)
ORDER BY o.id DESC LIMIT :limit;

-- name: observation_unlinked_count
-- Count the observations that hold, that no understanding cites and that nobody dismissed.
SELECT COUNT(*) AS count FROM observation AS o
WHERE o.workspace_id = :workspace AND o.placed = 0 AND o.superseded_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM source AS e CROSS JOIN understanding AS u
        WHERE e.workspace_id = :workspace AND e.source_id = o.id
            AND u.workspace_id = e.workspace_id AND u.id = e.item_id AND u.superseded_by IS NULL);

-- name: observation_unlinked_capped
-- Count the observations that hold, that no understanding cites and that nobody dismissed, up to a bound.
SELECT COUNT(*) AS count FROM (SELECT 1 FROM observation AS o
    WHERE o.workspace_id = :workspace AND o.placed = 0 AND o.superseded_at IS NULL
        AND NOT EXISTS (SELECT 1 FROM source AS e CROSS JOIN understanding AS u
            WHERE e.workspace_id = :workspace AND e.source_id = o.id
                AND u.workspace_id = e.workspace_id AND u.id = e.item_id AND u.superseded_by IS NULL)
    LIMIT :most) AS f;

-- name: observation_place
-- Record that an understanding cites its sources, so that the report does not look at them again.
UPDATE observation SET placed = 1 WHERE workspace_id = :workspace AND placed = 0
    AND id IN (SELECT e.source_id FROM source AS e WHERE e.workspace_id = :workspace AND e.item_id = :understanding);

-- name: observation_dismiss
-- Record that observations need no place in any understanding.
UPDATE observation SET placed = 1 WHERE workspace_id = :workspace AND id IN (:*ids);

-- name: observation_reviewed
-- Dismiss the observations of reviewed subjects, as far as all their subjects were reviewed since they were tagged.
UPDATE observation SET placed = 1 WHERE workspace_id = :workspace AND placed = 0
    AND id IN (SELECT o.observation_id FROM observation_subject AS o
        WHERE o.workspace_id = :workspace AND o.subject_id IN (:*ids))
    AND NOT EXISTS (SELECT 1 FROM observation_subject AS t
        JOIN subject AS s ON s.workspace_id = t.workspace_id AND s.id = t.subject_id AND s.reviewed_through < t.since_id
        WHERE t.workspace_id = :workspace AND t.observation_id = observation.id);

-- name: observation_unseen
-- Page through the observations about all of some subjects that became so after an id, in that order.
SELECT o.observation_id AS id, MAX(o.since_id) AS since FROM observation_subject AS o
WHERE o.workspace_id = :workspace AND o.subject_id IN (:*subjects) AND o.observation_id IN (
    SELECT n.observation_id FROM observation_subject AS n
    WHERE n.workspace_id = :workspace AND n.subject_id IN (:*subjects) AND n.since_id > :after)
GROUP BY o.observation_id
HAVING COUNT(*) = :count AND (MAX(o.since_id) > :since OR o.observation_id > :id)
ORDER BY MAX(o.since_id), o.observation_id LIMIT :limit;

-- name: observation_unread
-- Find the first observation about all of some subjects, after an id, that a session neither wrote nor was shown.
SELECT MIN(x.since) AS since FROM (
    SELECT o.observation_id, MAX(o.since_id) AS since FROM observation_subject AS o
    WHERE o.workspace_id = :workspace AND o.subject_id IN (:*subjects) AND o.observation_id IN (
        SELECT n.observation_id FROM observation_subject AS n
        WHERE n.workspace_id = :workspace AND n.subject_id IN (:*subjects) AND n.since_id > :after)
    GROUP BY o.observation_id HAVING COUNT(*) = :count) AS x
JOIN observation AS w ON w.workspace_id = :workspace AND w.id = x.observation_id
WHERE (COALESCE(w.session_id, 0) <> :session OR x.since <> x.observation_id)
    AND NOT EXISTS (SELECT 1 FROM seen AS e
        WHERE e.workspace_id = :workspace AND e.session_id = :session AND e.item_id = x.observation_id);

-- name: reading_get
-- Read how far a session has read the observations of some subjects.
SELECT through_id FROM reading WHERE workspace_id = :workspace AND session_id = :session AND subject_set = :subject_set;

-- name: reading_put
-- Record how far a session has read; it never goes back.
INSERT INTO reading (workspace_id, session_id, subject_set, through_id)
VALUES (:workspace, :session, :subject_set, :through)
ON CONFLICT (workspace_id, session_id, subject_set) DO UPDATE SET through_id =
    CASE WHEN reading.through_id > excluded.through_id THEN reading.through_id ELSE excluded.through_id END;

-- name: reading_clear
-- Forget how far sessions have read, when a pass is finished.
DELETE FROM reading WHERE workspace_id = :workspace;

-- name: understanding_add
-- Add an understanding; its text is a document.
INSERT INTO understanding (workspace_id, id, kind, generation, version, seen_through_id, reason, subject_set, updated_at)
VALUES (:workspace, :id, :kind, :generation, :version, :seen_through, :reason, :subject_set, :at);

-- name: understanding_of
-- Read understandings with their texts and sessions.
SELECT u.id, u.kind, u.generation, u.version, u.seen_through_id, u.superseded_by, u.reason, u.subject_set, u.updated_at,
    d.title, d.text, d.model_tier, d.created_at, d.happened_at, d.session_id, s.label AS session, d.origin, d.trust
FROM understanding AS u
JOIN document AS d ON d.workspace_id = u.workspace_id AND d.item_id = u.id
LEFT JOIN session AS s ON s.workspace_id = d.workspace_id AND s.id = d.session_id
WHERE u.workspace_id = :workspace AND u.id IN (:*ids) ORDER BY u.id;

-- name: soul_versions
-- Read every version of the soul.
SELECT u.id, d.text FROM understanding AS u
JOIN document AS d ON d.workspace_id = u.workspace_id AND d.item_id = u.id
WHERE u.workspace_id = :workspace AND u.kind = 'soul' ORDER BY u.id;

-- name: understanding_same_subjects
-- Find the understandings in force of one kind about exactly these subjects.
SELECT id, version FROM understanding
WHERE workspace_id = :workspace AND subject_set = :subject_set AND kind = :kind AND superseded_by IS NULL ORDER BY id;

-- name: understanding_of_sets
-- Find the understandings in force about exactly some sets of subjects, oldest first.
SELECT id, subject_set FROM understanding
WHERE workspace_id = :workspace AND subject_set IN (:*sets) AND kind IN ('single_subject', 'relationship')
    AND superseded_by IS NULL ORDER BY id;

-- name: understanding_count
-- Count the understandings in force.
SELECT COUNT(*) AS count FROM understanding WHERE workspace_id = :workspace AND superseded_by IS NULL;

-- name: understanding_supersede
-- Record which understanding replaced others.
UPDATE understanding SET superseded_by = :new WHERE workspace_id = :workspace AND id IN (:*old);

-- name: understanding_rewrite
-- Record that an understanding was rewritten in place, and what it has seen.
UPDATE understanding SET version = version + 1, generation = :generation, seen_through_id = :seen_through, updated_at = :at
WHERE workspace_id = :workspace AND id = :id;

-- name: understanding_reset
-- Record the set of subjects that an understanding is about after a merge.
UPDATE understanding SET subject_set = :subject_set WHERE workspace_id = :workspace AND id = :id;

-- name: understanding_predecessors
-- Find the understandings that one has replaced.
SELECT id FROM understanding WHERE workspace_id = :workspace AND superseded_by IN (:*ids) ORDER BY id DESC;

-- name: understanding_tag_add
-- Record that an understanding is about a subject.
INSERT INTO understanding_subject (workspace_id, understanding_id, subject_id)
VALUES (:workspace, :understanding, :subject) ON CONFLICT DO NOTHING;

-- name: understanding_tag_clear
-- Remove all understandings from a subject that was merged.
DELETE FROM understanding_subject WHERE workspace_id = :workspace AND subject_id = :subject;

-- name: understanding_tags
-- List the subjects of understandings.
SELECT u.understanding_id AS item_id, u.subject_id, s.name FROM understanding_subject AS u
JOIN subject AS s ON s.workspace_id = u.workspace_id AND s.id = u.subject_id
WHERE u.workspace_id = :workspace AND u.understanding_id IN (:*ids) ORDER BY u.understanding_id, u.subject_id;

-- name: understanding_tagged
-- List all understandings of a subject.
SELECT understanding_id AS id FROM understanding_subject
WHERE workspace_id = :workspace AND subject_id = :subject ORDER BY understanding_id;

-- name: understanding_tagged_all
-- List the newest understandings in force that are about all of some subjects.
SELECT t.understanding_id AS id FROM understanding_subject AS t
JOIN understanding AS u ON u.workspace_id = t.workspace_id AND u.id = t.understanding_id AND u.superseded_by IS NULL
WHERE t.workspace_id = :workspace AND t.subject_id IN (:*subjects)
GROUP BY t.understanding_id HAVING COUNT(*) = :count ORDER BY t.understanding_id DESC LIMIT :limit;

-- name: understanding_shared
-- List the understandings in force about a subject, and the other subjects of each.
SELECT other.subject_id, COUNT(*) AS count FROM understanding_subject AS own
JOIN understanding AS u ON u.workspace_id = own.workspace_id AND u.id = own.understanding_id AND u.superseded_by IS NULL
JOIN understanding_subject AS other ON other.workspace_id = own.workspace_id
    AND other.understanding_id = own.understanding_id AND other.subject_id <> own.subject_id
WHERE own.workspace_id = :workspace AND own.subject_id = :subject GROUP BY other.subject_id;

-- name: source_inherit
-- Copy to an understanding the sources of its predecessors.
INSERT INTO source (workspace_id, item_id, source_id)
SELECT s.workspace_id, :new, s.source_id FROM source AS s
WHERE s.workspace_id = :workspace AND s.item_id IN (:*old) ON CONFLICT DO NOTHING;

-- name: source_observations
-- List the observations that understandings rest on.
SELECT e.item_id, e.source_id FROM source AS e
JOIN observation AS o ON o.workspace_id = e.workspace_id AND o.id = e.source_id
WHERE e.workspace_id = :workspace AND e.item_id IN (:*ids) ORDER BY e.item_id, e.source_id;

-- name: source_citing
-- List the understandings that rest on an observation, except by a link that has not been read yet.
SELECT e.source_id AS observation_id, e.item_id AS understanding_id FROM source AS e
JOIN understanding AS u ON u.workspace_id = e.workspace_id AND u.id = e.item_id
WHERE e.workspace_id = :workspace AND e.source_id IN (:*ids)
    AND NOT EXISTS (SELECT 1 FROM linked AS l WHERE l.workspace_id = :workspace
        AND l.understanding_id = e.item_id AND l.observation_id = e.source_id)
ORDER BY +e.item_id;

-- name: cover_uncited
-- Remove covers from an observation that got another subject.
-- It stays covered only by what rests on it.
DELETE FROM cover WHERE workspace_id = :workspace AND item_id = :observation
    AND NOT EXISTS (SELECT 1 FROM source AS e WHERE e.workspace_id = :workspace
        AND e.item_id = cover.cover_id AND e.source_id = :observation);

-- name: linked_add
-- Record an observation that was linked to an understanding but not read into it yet.
INSERT INTO linked (workspace_id, understanding_id, observation_id)
VALUES (:workspace, :understanding, :observation) ON CONFLICT DO NOTHING;

-- name: linked_of
-- List the observations that are still to be read into understandings.
SELECT l.understanding_id, l.observation_id, o.kind, d.text, d.happened_at FROM linked AS l
JOIN observation AS o ON o.workspace_id = l.workspace_id AND o.id = l.observation_id
JOIN document AS d ON d.workspace_id = l.workspace_id AND d.item_id = l.observation_id
WHERE l.workspace_id = :workspace AND l.understanding_id IN (:*ids) ORDER BY l.understanding_id, l.observation_id;

-- name: linked_move
-- Move what waited for an understanding's predecessors to it.
INSERT INTO linked (workspace_id, understanding_id, observation_id)
SELECT l.workspace_id, :new, l.observation_id FROM linked AS l
WHERE l.workspace_id = :workspace AND l.understanding_id IN (:*old) ON CONFLICT DO NOTHING;

-- name: linked_replace
-- Queue an observation for every understanding for which the one that it replaces was queued.
INSERT INTO linked (workspace_id, understanding_id, observation_id)
SELECT l.workspace_id, l.understanding_id, :new FROM linked AS l
WHERE l.workspace_id = :workspace AND l.observation_id = :old ON CONFLICT DO NOTHING;

-- name: linked_clear
-- Record that everything linked to understandings has been read into them.
DELETE FROM linked WHERE workspace_id = :workspace AND understanding_id IN (:*ids);

-- name: linked_drop
-- Remove deleted observations from those still to be read.
DELETE FROM linked WHERE workspace_id = :workspace AND observation_id IN (:*ids);

-- name: intersection_touch
-- Add to the count of observations that two subjects share, and record the id of the change.
INSERT INTO intersection (workspace_id, subject_a, subject_b, observation_count, changed_through, reviewed_through,
    settled_through)
VALUES (:workspace, :a, :b, :count, :through, 0, 0)
ON CONFLICT (workspace_id, subject_a, subject_b) DO UPDATE SET
    observation_count = intersection.observation_count + excluded.observation_count,
    changed_through = excluded.changed_through;

-- name: intersection_point
-- Point a pair of subjects to its understanding.
INSERT INTO intersection (workspace_id, subject_a, subject_b, observation_count, understanding_id, changed_through,
    reviewed_through, settled_through)
VALUES (:workspace, :a, :b, 0, :understanding, 0, 0, 0)
ON CONFLICT (workspace_id, subject_a, subject_b) DO UPDATE SET understanding_id = excluded.understanding_id;

-- name: intersection_unpoint
-- Clear the pointer of a pair to an understanding that was replaced.
UPDATE intersection SET understanding_id = NULL
WHERE workspace_id = :workspace AND subject_a = :a AND subject_b = :b AND understanding_id = :old;

-- name: intersection_get
-- Read the counts of a pair of subjects.
SELECT subject_a, subject_b, observation_count, understanding_id, changed_through, reviewed_through, settled_through
FROM intersection WHERE workspace_id = :workspace AND subject_a = :a AND subject_b = :b;

-- name: intersection_around
-- List all subjects with which a subject shares observations.
SELECT subject_b AS other, observation_count, understanding_id FROM intersection
WHERE workspace_id = :workspace AND subject_a = :subject
UNION ALL
SELECT subject_a AS other, observation_count, understanding_id FROM intersection
WHERE workspace_id = :workspace AND subject_b = :subject;

-- name: intersection_sizes
-- Count the observations that subjects share, pair by pair.
SELECT subject_a, subject_b, observation_count FROM intersection
WHERE workspace_id = :workspace AND subject_a IN (:*ids) AND subject_b IN (:*ids);

-- name: intersection_recount
-- Recount what two subjects share, and since when, after observations were deleted or moved.
UPDATE intersection SET
    observation_count = (SELECT COUNT(*) FROM observation_subject AS a
        JOIN observation_subject AS b ON b.workspace_id = a.workspace_id AND b.observation_id = a.observation_id
        WHERE a.workspace_id = :workspace AND a.subject_id = :a AND b.subject_id = :b),
    changed_through = COALESCE((SELECT MAX(CASE WHEN a.since_id > b.since_id THEN a.since_id ELSE b.since_id END)
        FROM observation_subject AS a
        JOIN observation_subject AS b ON b.workspace_id = a.workspace_id AND b.observation_id = a.observation_id
        WHERE a.workspace_id = :workspace AND a.subject_id = :a AND b.subject_id = :b), 0)
WHERE workspace_id = :workspace AND subject_a = :a AND subject_b = :b;

-- name: intersection_resize
-- Recount what two subjects share, but keep since when.
UPDATE intersection SET observation_count = (SELECT COUNT(*) FROM observation_subject AS a
    JOIN observation_subject AS b ON b.workspace_id = a.workspace_id AND b.observation_id = a.observation_id
    WHERE a.workspace_id = :workspace AND a.subject_id = :a AND b.subject_id = :b)
WHERE workspace_id = :workspace AND subject_a = :a AND subject_b = :b;

-- name: intersection_put
-- Write what two subjects share as it is after a merge.
INSERT INTO intersection (workspace_id, subject_a, subject_b, observation_count, understanding_id, changed_through,
    reviewed_through, settled_through)
VALUES (:workspace, :a, :b, :count, :understanding, :changed, :reviewed, 0)
ON CONFLICT (workspace_id, subject_a, subject_b) DO UPDATE SET
    observation_count = excluded.observation_count, understanding_id = excluded.understanding_id,
    changed_through = excluded.changed_through, reviewed_through = excluded.reviewed_through;

-- name: intersection_clear
-- Delete all pairs of a subject that was merged.
DELETE FROM intersection WHERE workspace_id = :workspace AND (subject_a = :subject OR subject_b = :subject);

-- name: intersection_review
-- Record that a pair was reviewed up to an id.
UPDATE intersection SET reviewed_through = :through
WHERE workspace_id = :workspace AND subject_a = :a AND subject_b = :b AND reviewed_through < :through;

-- name: intersection_settle
-- Compute up to which id a pair is settled: reviewed or understood, whichever is later.
UPDATE intersection SET settled_through = CASE
    WHEN reviewed_through > COALESCE((SELECT u.seen_through_id FROM understanding AS u
        WHERE u.workspace_id = :workspace AND u.id = intersection.understanding_id), 0) THEN reviewed_through
    ELSE COALESCE((SELECT u.seen_through_id FROM understanding AS u
        WHERE u.workspace_id = :workspace AND u.id = intersection.understanding_id), 0) END
WHERE workspace_id = :workspace AND subject_a = :a AND subject_b = :b;

-- name: intersection_waiting
-- List pairs that share observations which their understanding has not seen.
SELECT i.subject_a, i.subject_b, i.observation_count, i.understanding_id, i.settled_through FROM intersection AS i
WHERE i.workspace_id = :workspace AND i.changed_through > i.settled_through ORDER BY i.subject_a, i.subject_b;

-- name: intersection_waiting_count
-- Count the pairs that wait for consolidation.
SELECT COUNT(*) AS count FROM intersection AS i
WHERE i.workspace_id = :workspace AND i.changed_through > i.settled_through;

-- name: intersection_waiting_some
-- List the first pairs that wait after one.
SELECT i.subject_a, i.subject_b, i.observation_count, i.understanding_id, a.name AS name_a, b.name AS name_b
FROM (SELECT * FROM intersection AS w
    WHERE w.workspace_id = :workspace AND w.changed_through > w.settled_through
        AND (w.subject_a, w.subject_b) > (:a, :b)
    ORDER BY w.subject_a, w.subject_b LIMIT :limit) AS i
JOIN subject AS a ON a.workspace_id = :workspace AND a.id = i.subject_a
JOIN subject AS b ON b.workspace_id = :workspace AND b.id = i.subject_b
ORDER BY i.subject_a, i.subject_b;

-- name: intersection_waiting_largest
-- List those that wait among the pairs that share most and have no understanding.
SELECT i.subject_a, i.subject_b, i.observation_count, i.understanding_id, a.name AS name_a, b.name AS name_b
FROM (SELECT * FROM intersection AS w WHERE w.workspace_id = :workspace AND w.understanding_id IS NULL
    ORDER BY w.observation_count DESC LIMIT :limit) AS i
JOIN subject AS a ON a.workspace_id = :workspace AND a.id = i.subject_a
JOIN subject AS b ON b.workspace_id = :workspace AND b.id = i.subject_b
WHERE i.changed_through > i.settled_through ORDER BY i.observation_count DESC, i.subject_a, i.subject_b;

-- name: intersection_waiting_capped
-- Count the pairs that wait for consolidation, up to a bound.
SELECT COUNT(*) AS count FROM (SELECT 1 FROM intersection AS i
    WHERE i.workspace_id = :workspace AND i.changed_through > i.settled_through LIMIT :most) AS f;

-- name: intersection_fresh
-- Count, for every waiting pair that was settled before, the observations that are new for it: for all others, all are.
-- Starts from subjects and not from pairs, so that what is new about a subject is read once and not once for each pair
-- that it is in. The second half leaves out what the first has counted.
SELECT f.subject_a, f.subject_b, COUNT(*) AS fresh FROM (
    SELECT i.subject_a, i.subject_b
    FROM (SELECT w.subject_a AS subject_id, MIN(w.settled_through) AS through FROM intersection AS w
        WHERE w.workspace_id = :workspace AND w.changed_through > w.settled_through AND w.settled_through > 0
        GROUP BY w.subject_a) AS f
    CROSS JOIN observation_subject AS x CROSS JOIN observation_subject AS y CROSS JOIN intersection AS i
    WHERE x.workspace_id = :workspace AND x.subject_id = f.subject_id AND x.since_id > f.through
        AND y.workspace_id = :workspace AND y.observation_id = x.observation_id
        AND i.workspace_id = :workspace AND i.subject_a = x.subject_id AND i.subject_b = y.subject_id
        AND i.changed_through > i.settled_through AND i.settled_through > 0 AND x.since_id > i.settled_through
    UNION ALL
    SELECT i.subject_a, i.subject_b
    FROM (SELECT w.subject_b AS subject_id, MIN(w.settled_through) AS through FROM intersection AS w
        WHERE w.workspace_id = :workspace AND w.changed_through > w.settled_through AND w.settled_through > 0
        GROUP BY w.subject_b) AS f
    CROSS JOIN observation_subject AS x CROSS JOIN observation_subject AS y CROSS JOIN intersection AS i
    WHERE x.workspace_id = :workspace AND x.subject_id = f.subject_id AND x.since_id > f.through
        AND y.workspace_id = :workspace AND y.observation_id = x.observation_id
        AND i.workspace_id = :workspace AND i.subject_a = y.subject_id AND i.subject_b = x.subject_id
        AND i.changed_through > i.settled_through AND i.settled_through > 0 AND x.since_id > i.settled_through
        AND y.since_id <= i.settled_through
) AS f GROUP BY f.subject_a, f.subject_b;

-- name: intersection_unwritten
-- List the pairs that share most and have no understanding.
SELECT i.subject_a, i.subject_b, i.observation_count, a.name AS name_a, b.name AS name_b FROM intersection AS i
JOIN subject AS a ON a.workspace_id = i.workspace_id AND a.id = i.subject_a
JOIN subject AS b ON b.workspace_id = i.workspace_id AND b.id = i.subject_b
WHERE i.workspace_id = :workspace AND i.understanding_id IS NULL AND i.observation_count >= :smallest
    AND i.changed_through > i.reviewed_through
ORDER BY i.observation_count DESC, i.subject_a, i.subject_b LIMIT :limit;

-- name: session_ensure
-- Create the state of a session on first use.
INSERT INTO session_state (workspace_id, session_id, called_through, observation_count, observed_through, settled_through)
VALUES (:workspace, :session, :session, 0, 0, 0) ON CONFLICT DO NOTHING;

-- name: session_get
-- Read what a session has seen and how much it has observed.
SELECT session_id, token, brought_at, called_through, understanding_id, observation_count, observed_through, settled_through
FROM session_state WHERE workspace_id = :workspace AND session_id = :session;

-- name: session_labelled
-- Read what the session of a label was last brought, if there is one.
SELECT x.session_id, x.token, x.brought_at FROM session AS s
JOIN session_state AS x ON x.workspace_id = s.workspace_id AND x.session_id = s.id
WHERE s.workspace_id = :workspace AND s.label = :label;

-- name: seen_labelled
-- List what the session of a label has been shown.
SELECT n.item_id FROM session AS s
JOIN seen AS n ON n.workspace_id = s.workspace_id AND n.session_id = s.id
WHERE s.workspace_id = :workspace AND s.label = :label;

-- name: session_of
-- Read the notes of sessions and how much each observed.
SELECT x.session_id, x.observation_count, x.understanding_id, d.title, d.text FROM session_state AS x
LEFT JOIN document AS d ON d.workspace_id = x.workspace_id AND d.item_id = x.understanding_id
WHERE x.workspace_id = :workspace AND x.session_id IN (:*ids);

-- name: session_called
-- Record up to which id a session has been told the news.
INSERT INTO session_state (workspace_id, session_id, called_through, observation_count, observed_through, settled_through)
VALUES (:workspace, :session, :through, 0, 0, 0)
ON CONFLICT (workspace_id, session_id) DO UPDATE SET called_through = excluded.called_through;

-- name: session_brought
-- Record what was last brought to mind in a session.
UPDATE session_state SET token = :token, brought_at = :at WHERE workspace_id = :workspace AND session_id = :session;

-- name: session_observed
-- Count observations of a session.
INSERT INTO session_state (workspace_id, session_id, called_through, observation_count, observed_through, settled_through)
VALUES (:workspace, :session, :session, :count, :through, 0)
ON CONFLICT (workspace_id, session_id) DO UPDATE SET
    observation_count = session_state.observation_count + excluded.observation_count,
    observed_through = excluded.observed_through;

-- name: session_recount
-- Recount the observations of a session after some were deleted.
UPDATE session_state SET
    observation_count = (SELECT COUNT(*) FROM observation AS o
        WHERE o.workspace_id = :workspace AND o.session_id = session_state.session_id),
    observed_through = COALESCE((SELECT MAX(o.id) FROM observation AS o
        WHERE o.workspace_id = :workspace AND o.session_id = session_state.session_id), 0)
WHERE workspace_id = :workspace AND session_id = :session;

-- name: session_described
-- Point a session to its note, and record up to which id the note covers it.
UPDATE session_state SET understanding_id = :understanding, settled_through = :through
WHERE workspace_id = :workspace AND session_id = :session;

-- name: session_waiting
-- List sessions with observations that their note does not cover.
SELECT x.session_id, x.understanding_id, x.observation_count, s.label, s.started_at, s.seen_at FROM session_state AS x
JOIN session AS s ON s.workspace_id = x.workspace_id AND s.id = x.session_id
WHERE x.workspace_id = :workspace AND x.observed_through > x.settled_through ORDER BY x.session_id;

-- name: session_waiting_some
-- List the first sessions with observations that their note does not cover.
SELECT x.session_id, x.understanding_id, x.observation_count, s.label, s.started_at, s.seen_at FROM session_state AS x
JOIN session AS s ON s.workspace_id = x.workspace_id AND s.id = x.session_id
WHERE x.workspace_id = :workspace AND x.observed_through > x.settled_through ORDER BY x.session_id LIMIT :limit;

-- name: activity
-- List what other sessions wrote since the last call of a session, or since it began, newest first.
-- The kinds are told by what they are not: asked for the two of them, SQLite reads everything of these kinds and sorts it.
SELECT d.item_id, d.kind, d.title, d.text, d.created_at FROM document AS d
WHERE d.workspace_id = :workspace AND NOT (d.kind <> 'observation' AND d.kind <> 'understanding') AND d.retired_at IS NULL
    AND d.item_id > (
        SELECT COALESCE(c.called_through, s.id) FROM session AS s
        LEFT JOIN session_state AS c ON c.workspace_id = s.workspace_id AND c.session_id = s.id
        WHERE s.workspace_id = :workspace AND s.label = :label)
    AND (d.session_id IS NULL
        OR d.session_id <> (SELECT s.id FROM session AS s WHERE s.workspace_id = :workspace AND s.label = :label))
ORDER BY d.item_id DESC LIMIT :limit;

-- name: seen_add
-- Record that a session has been shown some items.
INSERT INTO seen (workspace_id, session_id, item_id, at)
SELECT :workspace, :session, i.value, :at FROM json_each(:items) AS i WHERE 1 = 1 ON CONFLICT DO NOTHING;

-- name: seen_clear
-- Forget what a session has been shown.
DELETE FROM seen WHERE workspace_id = :workspace AND session_id = :session;

-- name: seen_drop
-- Forget that deleted items were shown.
DELETE FROM seen WHERE workspace_id = :workspace AND item_id IN (:*ids);

-- name: understanding_heads
-- Find what replaced understandings.
SELECT id, superseded_by FROM understanding WHERE workspace_id = :workspace AND id IN (:*ids);

-- name: understanding_repoint
-- Let the predecessors of a forgotten understanding lead to its successor.
UPDATE understanding SET superseded_by = :new WHERE workspace_id = :workspace AND superseded_by = :old;

-- name: understanding_drop
-- Delete understandings.
DELETE FROM understanding WHERE workspace_id = :workspace AND id IN (:*ids);

-- name: understanding_tag_drop
-- Remove deleted understandings from their subjects.
DELETE FROM understanding_subject WHERE workspace_id = :workspace AND understanding_id IN (:*ids);

-- name: understanding_of_session
-- Find the notes on sessions.
SELECT session_id, understanding_id FROM session_state
WHERE workspace_id = :workspace AND session_id IN (:*ids) AND understanding_id IS NOT NULL;

-- name: session_undescribe
-- Clear the pointer of sessions to notes that are deleted, and let the sessions wait for new ones.
UPDATE session_state SET understanding_id = NULL, settled_through = 0
WHERE workspace_id = :workspace AND understanding_id IN (:*ids);

-- name: workspace_unpoint
-- Clear the pointers to a soul, a protocol or an orientation that is deleted.
UPDATE semantic_workspace SET
    soul_id = CASE WHEN soul_id IN (:*ids) THEN NULL ELSE soul_id END,
    protocol_id = CASE WHEN protocol_id IN (:*ids) THEN NULL ELSE protocol_id END,
    orientation_id = CASE WHEN orientation_id IN (:*ids) THEN NULL ELSE orientation_id END
WHERE workspace_id = :workspace;

-- name: intersection_unpoint_all
-- Clear the pointers of pairs to understandings that are deleted.
UPDATE intersection SET understanding_id = NULL WHERE workspace_id = :workspace AND understanding_id IN (:*ids);

-- name: observation_unplace
-- Let observations that a deleted understanding cited wait for a place in another one.
UPDATE observation SET placed = 0 WHERE workspace_id = :workspace AND id IN (:*ids) AND superseded_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM source AS e JOIN understanding AS u ON u.workspace_id = e.workspace_id AND u.id = e.item_id
        WHERE e.workspace_id = :workspace AND e.source_id = observation.id AND u.superseded_by IS NULL);

-- name: observation_unreplace
-- Forget what replaced observations, once that is forgotten.
UPDATE observation SET superseded_by = NULL WHERE workspace_id = :workspace AND superseded_by IN (:*ids);

-- name: observation_sessions
-- Find the sessions of observations.
SELECT DISTINCT session_id FROM observation WHERE workspace_id = :workspace AND id IN (:*ids) AND session_id IS NOT NULL;

-- name: subject_left
-- Count what would be left of subjects without some items.
SELECT s.id, s.name, s.summary,
    (SELECT COUNT(*) FROM observation_subject AS o WHERE o.workspace_id = :workspace AND o.subject_id = s.id
        AND o.observation_id NOT IN (SELECT i.id FROM item AS i WHERE i.workspace_id = :workspace AND i.id IN (:*gone)))
    + (SELECT COUNT(*) FROM understanding_subject AS u WHERE u.workspace_id = :workspace AND u.subject_id = s.id
        AND u.understanding_id NOT IN (SELECT i.id FROM item AS i WHERE i.workspace_id = :workspace AND i.id IN (:*gone)))
    + (SELECT COUNT(*) FROM subject_tag AS t WHERE t.workspace_id = :workspace AND t.subject_id = s.id) AS count
FROM subject AS s WHERE s.workspace_id = :workspace AND s.id IN (:*ids);

-- name: subject_names_drop
-- Delete all names of subjects.
DELETE FROM subject_name WHERE workspace_id = :workspace AND subject_id IN (:*ids);

-- name: understanding_all_about
-- List the understandings, in force or not, that are about all of some subjects.
SELECT understanding_id AS id FROM understanding_subject
WHERE workspace_id = :workspace AND subject_id IN (:*subjects)
GROUP BY understanding_id HAVING COUNT(*) = :count ORDER BY understanding_id;
