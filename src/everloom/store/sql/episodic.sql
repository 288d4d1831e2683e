-- Statements of episodic memory. Scenes age, fade and come back in one statement for the whole workspace.
-- A scene is pinned in access; a lifespan is compared with whole numbers, so that both engines agree to the patrol.

-- name: being_get
-- Read the Being: its two roots and its thoughts for the next session.
SELECT business_id, private_id, think_md, think_at FROM being WHERE workspace_id = :workspace;

-- name: being_add
-- Create a Being, with a root for business scenes and one for private scenes.
INSERT INTO being (workspace_id, business_id, private_id, think_md) VALUES (:workspace, :business, :private, '');

-- name: being_think
-- Rewrite the Being's thoughts for the next session.
UPDATE being SET think_md = :text, think_at = :at WHERE workspace_id = :workspace;

-- name: patrol_add
-- Start a patrol.
INSERT INTO patrol (workspace_id, id, number, reason, began_at)
VALUES (:workspace, :id, :number, :reason, :at);

-- name: patrol_open
-- Find the patrol in progress.
SELECT id, number, reason, began_at, ended_at FROM patrol WHERE workspace_id = :workspace AND ended_at IS NULL;

-- name: patrol_recent
-- List the newest patrols before one.
SELECT id, number, reason, began_at, ended_at FROM patrol WHERE workspace_id = :workspace AND id < :before
ORDER BY id DESC LIMIT :limit;

-- name: patrol_end
-- End a patrol.
UPDATE patrol SET ended_at = :at WHERE workspace_id = :workspace AND id = :id AND ended_at IS NULL;

-- name: patrol_without_page
-- List the patrols that have ended without the step that writes the diary, oldest first.
SELECT p.id, p.number, p.began_at FROM patrol AS p WHERE p.workspace_id = :workspace AND p.ended_at IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM patrol_step AS s WHERE s.workspace_id = p.workspace_id AND s.patrol_id = p.id
        AND s.step = 'reflect')
ORDER BY p.id LIMIT :limit;

-- name: step_add
-- Record that a step of a patrol is done, and what it did.
INSERT INTO patrol_step (workspace_id, patrol_id, step, position, at, milliseconds, report)
VALUES (:workspace, :patrol, :step, :position, :at, :milliseconds, :report);

-- name: step_of
-- List the steps of patrols in order.
SELECT patrol_id, step, at, milliseconds, report FROM patrol_step
WHERE workspace_id = :workspace AND patrol_id IN (:*ids) ORDER BY patrol_id, position;

-- name: cluster_add
-- Add a cluster.
INSERT INTO cluster (workspace_id, id, parent_id, is_root, name, digest, vector_model)
VALUES (:workspace, :id, :parent, :is_root, :name, :digest, 0);

-- name: cluster_counts
-- List the clusters with the number of living and dying scenes in each.
SELECT c.id, c.parent_id, c.is_root, c.name, c.digest, COUNT(l.scene_id) AS nodes,
    COUNT(CASE WHEN l.status = 'active' THEN 1 END) AS active, COUNT(CASE WHEN l.status = 'dying' THEN 1 END) AS dying
FROM cluster AS c LEFT JOIN scene_life AS l ON l.workspace_id = c.workspace_id AND l.cluster_id = c.id
WHERE c.workspace_id = :workspace GROUP BY c.workspace_id, c.id ORDER BY c.id;

-- name: cluster_vectors
-- Read the centres of all clusters that one model made.
SELECT id, vector FROM cluster WHERE workspace_id = :workspace AND is_root = 0 AND vector_model = :model AND vector IS NOT NULL
ORDER BY id;

-- name: cluster_outdated
-- List the clusters whose centre another model made.
SELECT id FROM cluster WHERE workspace_id = :workspace AND vector_model <> :model;

-- name: cluster_vector
-- Store the centre of a cluster.
UPDATE cluster SET vector = :vector, vector_model = :model WHERE workspace_id = :workspace AND id = :id;

-- name: cluster_drop
-- Delete clusters; a root stays.
DELETE FROM cluster WHERE workspace_id = :workspace AND id IN (:*ids) AND is_root = 0;

-- name: scene_add
-- Add a scene as it was told.
INSERT INTO scene (workspace_id, id, action, feeling, themes, body, haystack, valence, arousal, dominance, safety, novelty,
    trust, patrol_id, created_at)
VALUES (:workspace, :id, :action, :feeling, :themes, :body, :haystack, :valence, :arousal, :dominance, :safety, :novelty,
    :trust, :patrol, :at);

-- name: scene_rewrite
-- Rewrite a scene into which others were merged.
UPDATE scene SET action = :action, feeling = :feeling, themes = :themes, body = :body, haystack = :haystack,
    valence = :valence, arousal = :arousal, dominance = :dominance, safety = :safety, novelty = :novelty, trust = :trust
WHERE workspace_id = :workspace AND id = :id;

-- name: scene_feel
-- Add feelings to a scene that was told without any.
UPDATE scene SET valence = :valence, arousal = :arousal, dominance = :dominance, safety = :safety, novelty = :novelty,
    trust = :trust
WHERE workspace_id = :workspace AND id = :id AND valence IS NULL;

-- name: life_add
-- Add the lifecycle of a scene.
INSERT INTO scene_life (workspace_id, scene_id, cluster_id, status, importance, lifespan, session_count, reactivation_count,
    last_activated, fresh)
VALUES (:workspace, :id, :cluster, 'active', :importance, :lifespan, 0, 0, :at, :fresh);

-- name: node_of
-- Read scenes with their lifecycles.
SELECT s.id, s.action, s.feeling, s.themes, s.body, s.valence, s.arousal, s.dominance, s.safety, s.novelty, s.trust,
    s.patrol_id, s.created_at, l.cluster_id, l.status, l.importance, l.session_count, l.reactivation_count,
    l.last_activated, l.fresh, l.death, l.absorbed_into, l.dying_since, l.placed, l.split_from, COALESCE(a.pinned, 0) AS pinned
FROM scene AS s JOIN scene_life AS l ON l.workspace_id = s.workspace_id AND l.scene_id = s.id
LEFT JOIN access AS a ON a.workspace_id = s.workspace_id AND a.item_id = s.id
WHERE s.workspace_id = :workspace AND s.id IN (:*ids) ORDER BY s.id;

-- name: node_in_cluster
-- List the scenes of a cluster, the most important first.
SELECT l.scene_id AS id FROM scene_life AS l WHERE l.workspace_id = :workspace AND l.cluster_id = :cluster
ORDER BY l.importance DESC, l.last_activated DESC, l.scene_id DESC LIMIT :limit;

-- name: living_in
-- List the living scenes of clusters.
-- Unordered: to sort them, SQLite would read all scenes by their key.
SELECT scene_id AS id, cluster_id, status, fresh, importance, placed FROM scene_life
WHERE workspace_id = :workspace AND cluster_id IN (:*ids) AND status <> 'dead';

-- name: status_of
-- Read the state and the cluster of scenes.
SELECT scene_id AS id, cluster_id, status FROM scene_life WHERE workspace_id = :workspace AND scene_id IN (:*ids);

-- name: recent
-- List the scenes that were active last.
SELECT l.scene_id AS id FROM scene_life AS l WHERE l.workspace_id = :workspace AND l.status <> 'dead'
ORDER BY l.last_activated DESC, l.scene_id DESC LIMIT :limit;

-- name: active_newest
-- List the newest active scenes.
SELECT scene_id AS id FROM scene_life WHERE workspace_id = :workspace AND status = 'active'
ORDER BY scene_id DESC LIMIT :limit;

-- name: reactivate
-- Count that scenes were recalled: a dying one lives again, a dead one gathers strength to come back.
UPDATE scene_life SET reactivation_count = reactivation_count + CASE WHEN status = 'dead' THEN 2 ELSE 1 END,
    last_activated = :at, dying_since = NULL, status = CASE WHEN status = 'dying' THEN 'active' ELSE status END
WHERE workspace_id = :workspace AND scene_id IN (:*ids);

-- name: age
-- Age all living scenes that are not pinned by one patrol.
UPDATE scene_life SET session_count = session_count + 1
WHERE workspace_id = :workspace AND status = 'active'
    AND scene_id NOT IN (SELECT item_id FROM access WHERE workspace_id = :workspace AND pinned = 1);

-- name: flag_dying
-- Mark scenes whose lifespan has run out as dying.
UPDATE scene_life SET status = 'dying', dying_since = :number
WHERE workspace_id = :workspace AND status = 'active' AND session_count - reactivation_count >= lifespan
    AND scene_id NOT IN (SELECT item_id FROM access WHERE workspace_id = :workspace AND pinned = 1)
RETURNING cluster_id;

-- name: fade
-- Mark scenes that have been dying long enough as dead.
UPDATE scene_life SET status = 'dead', death = 'faded', dying_since = NULL
WHERE workspace_id = :workspace AND status = 'dying' AND dying_since <= :number
    AND scene_id NOT IN (SELECT item_id FROM access WHERE workspace_id = :workspace AND pinned = 1);

-- name: make_dead
-- Mark the dying scenes that a model chose as dead.
UPDATE scene_life SET status = 'dead', death = 'faded', dying_since = NULL
WHERE workspace_id = :workspace AND status = 'dying' AND scene_id IN (:*ids);

-- name: unfresh_all
-- End the freshness of all scenes.
UPDATE scene_life SET fresh = 0 WHERE workspace_id = :workspace AND fresh = 1;

-- name: unfresh
-- End the freshness of some scenes.
UPDATE scene_life SET fresh = 0 WHERE workspace_id = :workspace AND fresh = 1 AND scene_id IN (:*ids);

-- name: revive
-- Revive faded scenes that were recalled often enough.
UPDATE scene_life SET status = 'active', death = NULL, reactivation_count = reactivation_count + 2
WHERE workspace_id = :workspace AND status = 'dead' AND death = 'faded'
    AND session_count - reactivation_count < lifespan
RETURNING cluster_id;

-- name: absorb
-- Mark a scene as merged into another.
UPDATE scene_life SET status = 'dead', death = 'absorbed', absorbed_into = :into, dying_since = NULL, fresh = 0
WHERE workspace_id = :workspace AND scene_id = :id;

-- name: survive
-- Update the lifecycle of a scene into which others were merged.
UPDATE scene_life SET status = 'active', death = NULL, dying_since = NULL, fresh = 0, importance = :importance,
    lifespan = :lifespan, placed = :placed
WHERE workspace_id = :workspace AND scene_id = :id;

-- name: awaken
-- Revive one dying or faded scene.
UPDATE scene_life SET status = 'active', death = NULL, dying_since = NULL
WHERE workspace_id = :workspace AND scene_id = :id AND (status = 'dying' OR death = 'faded');

-- name: move
-- Move scenes to another cluster, except those that somebody has placed.
UPDATE scene_life SET cluster_id = :cluster WHERE workspace_id = :workspace AND scene_id IN (:*ids) AND placed = 0;

-- name: place
-- Put a scene into a cluster: by somebody's choice, where patrols leave it, or for them to move again.
UPDATE scene_life SET cluster_id = :cluster, placed = :placed WHERE workspace_id = :workspace AND scene_id = :id;

-- name: parts_of
-- List the parts that scenes were split into, without those of a split that was undone.
SELECT scene_id AS id, split_from FROM scene_life WHERE workspace_id = :workspace AND split_from IN (:*ids)
    AND (death IS NULL OR death <> 'undone')
ORDER BY scene_id;

-- name: split_off
-- List all parts that scenes were ever split into.
SELECT scene_id AS id, split_from FROM scene_life WHERE workspace_id = :workspace AND split_from IN (:*ids)
ORDER BY scene_id;

-- name: placed_clusters
-- List the clusters that somebody chose for a scene: these are not folded. It may be dead: it comes back there when it is
-- recalled, or when the merge or split that ended it is undone.
SELECT DISTINCT cluster_id AS id FROM scene_life WHERE workspace_id = :workspace AND placed = 1;

-- name: move_all
-- Move all scenes of a cluster to another.
UPDATE scene_life SET cluster_id = :into WHERE workspace_id = :workspace AND cluster_id = :cluster;

-- name: restless
-- List the clusters with fresh or dying scenes.
SELECT DISTINCT cluster_id AS id FROM scene_life
WHERE workspace_id = :workspace AND (status = 'dying' OR (fresh = 1 AND status <> 'dead')) ORDER BY cluster_id;

-- name: unfelt
-- List fresh scenes that were told without feelings.
SELECT l.scene_id AS id FROM scene_life AS l JOIN scene AS s ON s.workspace_id = l.workspace_id AND s.id = l.scene_id
WHERE l.workspace_id = :workspace AND l.fresh = 1 AND l.status <> 'dead' AND s.valence IS NULL
ORDER BY l.scene_id LIMIT :limit;

-- name: unembedded
-- List living scenes that the model has not embedded, except those that it refused.
SELECT d.item_id AS id, d.text, l.cluster_id, l.status FROM document AS d
JOIN scene_life AS l ON l.workspace_id = d.workspace_id AND l.scene_id = d.item_id
WHERE d.workspace_id = :workspace AND (d.embedded_by < :model OR d.embedded_by > :model) AND d.embedded_by <> -:model
    AND d.kind = 'scene' AND l.status <> 'dead'
    AND NOT EXISTS (SELECT 1 FROM embedding AS e WHERE e.workspace_id = d.workspace_id AND e.item_id = d.item_id
        AND e.model_id = :model AND e.live = 1)
ORDER BY d.item_id DESC LIMIT :limit;

-- name: felt_nearest
-- Rank living scenes by the similarity of their feelings, on the axes that count.
SELECT s.id, :valence_counts * (s.valence - :valence) * (s.valence - :valence)
    + :arousal_counts * (s.arousal - :arousal) * (s.arousal - :arousal)
    + :dominance_counts * (s.dominance - :dominance) * (s.dominance - :dominance)
    + :safety_counts * (s.safety - :safety) * (s.safety - :safety)
    + :novelty_counts * (s.novelty - :novelty) * (s.novelty - :novelty)
    + :trust_counts * (s.trust - :trust) * (s.trust - :trust) AS distance
FROM scene AS s JOIN scene_life AS l ON l.workspace_id = s.workspace_id AND l.scene_id = s.id
WHERE s.workspace_id = :workspace AND s.valence IS NOT NULL AND l.status <> 'dead'
ORDER BY distance, s.id DESC LIMIT :limit;

-- name: holding
-- Find scenes whose text contains a string.
SELECT id, haystack FROM scene WHERE workspace_id = :workspace AND haystack LIKE :pattern ESCAPE '!'
ORDER BY id DESC LIMIT :limit;

-- name: census
-- Count scenes by state.
SELECT l.status, l.death, COUNT(*) AS count FROM scene_life AS l WHERE l.workspace_id = :workspace GROUP BY l.status, l.death;

-- name: note_add
-- Store a note for the next patrol.
INSERT INTO note (workspace_id, id, kind, content, problem, session_id, created_at, updated_at, origin)
VALUES (:workspace, :id, :kind, :content, :problem, :session, :at, :at, :origin);

-- name: note_get
-- Read notes.
SELECT id, kind, content, problem, created_at, updated_at, patrol_id, scene_id, read_at, read_in FROM note
WHERE workspace_id = :workspace AND id IN (:*ids) ORDER BY id;

-- name: note_open
-- List notes that no patrol has used.
SELECT id, kind, content, problem, created_at, updated_at, patrol_id, scene_id, read_at, read_in FROM note
WHERE workspace_id = :workspace AND patrol_id IS NULL ORDER BY id LIMIT :limit;

-- name: note_shown
-- List the notes that a context shows, the unread ones first: things to do, and scenes to be corrected.
SELECT id, kind, content, problem, created_at, updated_at, patrol_id, scene_id, read_at, read_in FROM note
WHERE workspace_id = :workspace AND patrol_id IS NULL AND (kind = 'note' OR problem IS NOT NULL)
ORDER BY CASE WHEN read_at IS NULL THEN 0 ELSE 1 END, id LIMIT :limit;

-- name: note_read
-- Mark notes as read, for every session.
UPDATE note SET read_at = COALESCE(read_at, :at), read_in = NULL
WHERE workspace_id = :workspace AND id IN (:*ids) AND patrol_id IS NULL;

-- name: note_seen
-- Record that a session was shown notes which nobody has read.
UPDATE note SET read_at = :at, read_in = :session
WHERE workspace_id = :workspace AND id IN (:*ids) AND patrol_id IS NULL AND read_at IS NULL AND updated_at <= :at;

-- name: note_unread
-- Mark notes as unread.
UPDATE note SET read_at = NULL, read_in = NULL WHERE workspace_id = :workspace AND id IN (:*ids) AND patrol_id IS NULL;

-- name: note_waiting
-- List scene notes that a patrol can use, oldest first.
SELECT id, content, session_id, created_at, origin FROM note
WHERE workspace_id = :workspace AND patrol_id IS NULL AND kind = 'scene' AND problem IS NULL AND id < :before
ORDER BY id LIMIT :limit;

-- name: note_pending
-- Count scene notes that a patrol can use, and find the newest.
SELECT COUNT(*) AS count, COALESCE(MAX(id), 0) AS newest FROM note
WHERE workspace_id = :workspace AND patrol_id IS NULL AND kind = 'scene' AND problem IS NULL;

-- name: note_taken
-- Record which patrol used a note and which scene it became.
UPDATE note SET patrol_id = :patrol, scene_id = :scene WHERE workspace_id = :workspace AND id = :id;

-- name: note_problem
-- Record why a note cannot become a scene.
UPDATE note SET problem = :problem WHERE workspace_id = :workspace AND id = :id;

-- name: note_change
-- Rewrite a note that no patrol has used.
-- Other words are to be read again.
UPDATE note SET kind = :kind, problem = :problem, updated_at = :at,
    read_at = CASE WHEN content = :content THEN read_at END, read_in = CASE WHEN content = :content THEN read_in END,
    content = :content
WHERE workspace_id = :workspace AND id = :id AND patrol_id IS NULL;

-- name: note_drop
-- Delete notes that no patrol has used.
DELETE FROM note WHERE workspace_id = :workspace AND id IN (:*ids) AND patrol_id IS NULL;

-- name: note_of_patrol
-- List the notes that a patrol used.
SELECT id, content, created_at, scene_id FROM note WHERE workspace_id = :workspace AND patrol_id = :patrol ORDER BY id;

-- name: entry_add
-- Add an entry of the diary, the soul or another collection.
INSERT INTO entry (workspace_id, id, target, entry_key, title, content, detail, created_at, updated_at)
VALUES (:workspace, :id, :target, :key, :title, :content, :detail, :at, :at);

-- name: entry_get
-- Read one entry by its key.
SELECT id, target, entry_key, title, content, detail, created_at, updated_at FROM entry
WHERE workspace_id = :workspace AND target = :target AND entry_key = :key;

-- name: entry_all
-- List the entries of a collection, starting at a key.
SELECT id, target, entry_key, title, content, detail, created_at, updated_at FROM entry
WHERE workspace_id = :workspace AND target = :target AND entry_key >= :from_key ORDER BY entry_key, id;

-- name: entry_change
-- Rewrite an entry.
UPDATE entry SET title = :title, content = :content, detail = :detail, updated_at = :at
WHERE workspace_id = :workspace AND id = :id;

-- name: entry_drop
-- Delete an entry.
DELETE FROM entry WHERE workspace_id = :workspace AND id = :id;

-- name: snapshot_get
-- Read what a session left for its next turn.
SELECT content, changed_at FROM session_snapshot WHERE workspace_id = :workspace AND session_label = :label;

-- name: snapshot_put
-- Store what a session leaves for its next turn.
INSERT INTO session_snapshot (workspace_id, session_label, content, changed_at)
VALUES (:workspace, :label, :content, :at)
ON CONFLICT (workspace_id, session_label) DO UPDATE SET content = excluded.content, changed_at = excluded.changed_at;

-- name: history
-- List what happened in a period, newest first, after a place in this order.
SELECT item_id AS id, kind, text, happened_at FROM document
WHERE workspace_id = :workspace AND kind IN (:*kinds) AND happened_at BETWEEN :happened_from AND :happened_until
    AND (happened_at, item_id) < (:last_at, :last_id) AND retired_at IS NULL
ORDER BY happened_at DESC, item_id DESC LIMIT :limit;

-- name: sample
-- List the texts of a workspace in the order in which they were added, for calibration.
SELECT item_id AS id, text FROM document WHERE workspace_id = :workspace AND retired_at IS NULL AND kind <> 'note'
ORDER BY item_id DESC LIMIT :limit;

-- name: calibration_get (global)
-- Read the thresholds that were measured for an embedding model.
SELECT model, recall, cluster, detail, at FROM calibration WHERE model = :model;

-- name: calibration_put (global)
-- Store the thresholds that were measured for an embedding model.
INSERT INTO calibration (model, recall, cluster, detail, at) VALUES (:model, :recall, :cluster, :detail, :at)
ON CONFLICT (model) DO UPDATE SET recall = excluded.recall, cluster = excluded.cluster, detail = excluded.detail,
    at = excluded.at;

-- name: note_behind
-- List the notes that became scenes.
SELECT id, scene_id FROM note WHERE workspace_id = :workspace AND scene_id IN (:*ids) ORDER BY id;

-- name: note_within
-- List the notes of a period or of a session that have no document.
SELECT id FROM note WHERE workspace_id = :workspace AND created_at BETWEEN :begin AND :end
    AND (:every_session = 1 OR session_id = :session) ORDER BY id LIMIT :limit;

-- name: note_purge
-- Delete notes, whether or not a patrol has used them.
DELETE FROM note WHERE workspace_id = :workspace AND id IN (:*ids);

-- name: note_wait
-- Let notes wait for the next patrol again.
UPDATE note SET patrol_id = NULL, scene_id = NULL WHERE workspace_id = :workspace AND id IN (:*ids);

-- name: absorbed_by
-- List the scenes that were merged into others.
SELECT scene_id AS id, absorbed_into FROM scene_life WHERE workspace_id = :workspace AND absorbed_into IN (:*ids);

-- name: absorbed_of
-- Find into which scenes others were merged.
SELECT scene_id AS id, absorbed_into FROM scene_life
WHERE workspace_id = :workspace AND scene_id IN (:*ids) AND absorbed_into IS NOT NULL;

-- name: unabsorb
-- Let scenes live again that were merged into one that goes.
UPDATE scene_life SET status = 'active', death = NULL, absorbed_into = NULL
WHERE workspace_id = :workspace AND scene_id IN (:*ids);

-- name: scene_patrols
-- Find the patrols that took scenes in.
SELECT DISTINCT p.id, p.began_at FROM scene AS s JOIN patrol AS p ON p.workspace_id = s.workspace_id AND p.id = s.patrol_id
WHERE s.workspace_id = :workspace AND s.id IN (:*ids);

-- name: life_drop
-- Delete the lifecycles of scenes.
DELETE FROM scene_life WHERE workspace_id = :workspace AND scene_id IN (:*ids);

-- name: scene_drop
-- Delete scenes.
DELETE FROM scene WHERE workspace_id = :workspace AND id IN (:*ids);

-- name: entry_of
-- Read entries by their ids.
SELECT id, target, entry_key, title, content, detail, updated_at FROM entry WHERE workspace_id = :workspace AND id IN (:*ids);

-- name: entry_purge
-- Delete entries.
DELETE FROM entry WHERE workspace_id = :workspace AND id IN (:*ids);

-- name: snapshot_clear
-- Delete what sessions were last given; the next ones are made anew.
DELETE FROM session_snapshot WHERE workspace_id = :workspace;

-- name: cluster_texts
-- Read what clusters are called.
SELECT id, name, digest FROM cluster WHERE workspace_id = :workspace AND is_root = 0;

-- name: cluster_rename
-- Give a cluster another name.
UPDATE cluster SET name = :name, digest = :digest WHERE workspace_id = :workspace AND id = :id;

-- name: step_texts
-- Read what patrols reported.
SELECT patrol_id, step, report FROM patrol_step WHERE workspace_id = :workspace;

-- name: step_blank
-- Take the words out of a report.
UPDATE patrol_step SET report = :report WHERE workspace_id = :workspace AND patrol_id = :patrol AND step = :step;

-- name: note_retell
-- Rewrite the note of a scene whose old words were forgotten.
UPDATE note SET content = :content, updated_at = :at WHERE workspace_id = :workspace AND id = :id;

-- name: cluster_recent
-- List the clusters of the scenes that were active last, each as often as it has such scenes.
SELECT cluster_id FROM scene_life WHERE workspace_id = :workspace AND status <> 'dead'
ORDER BY last_activated DESC LIMIT :limit;

-- name: cluster_newest
-- List the newest clusters.
SELECT id FROM cluster WHERE workspace_id = :workspace ORDER BY id DESC LIMIT :limit;

-- name: cluster_of
-- Read clusters with their centres.
SELECT id, parent_id, is_root, name, digest, vector, vector_model FROM cluster
WHERE workspace_id = :workspace AND id IN (:*ids);

-- name: cluster_size
-- Count the scenes of a cluster by state, up to a number.
SELECT status, COUNT(*) AS count FROM (
    SELECT status FROM scene_life WHERE workspace_id = :workspace AND cluster_id = :cluster LIMIT :limit
) AS part GROUP BY status;

-- name: scene_newest
-- List the newest scenes.
SELECT id FROM scene WHERE workspace_id = :workspace AND id < :before ORDER BY id DESC LIMIT :limit;

-- name: scene_inside
-- List scenes of a cluster, up to a number.
-- Unordered: to sort them, SQLite would read all scenes by their key.
SELECT scene_id AS id FROM scene_life WHERE workspace_id = :workspace AND cluster_id = :cluster LIMIT :limit;

-- name: scene_bounds
-- Find the oldest and the newest scene.
SELECT (SELECT MIN(id) FROM scene WHERE workspace_id = :workspace) AS first,
    (SELECT MAX(id) FROM scene WHERE workspace_id = :workspace) AS last;

-- name: scene_felt
-- Read how some scenes felt, and when they happened.
SELECT s.id, s.valence, s.arousal, s.dominance, s.safety, s.novelty, s.trust, d.happened_at FROM scene AS s
JOIN document AS d ON d.workspace_id = s.workspace_id AND d.item_id = s.id
WHERE s.workspace_id = :workspace AND s.id >= :low AND s.id < :high ORDER BY s.id LIMIT :limit;

-- name: story_scenes
-- List the scenes that happened since a time, earliest first, without those that live on in another.
SELECT s.id, s.action, s.feeling, s.body, s.valence, s.arousal, s.dominance, s.safety, s.novelty, s.trust, d.happened_at,
    l.cluster_id, l.status, l.importance, l.reactivation_count, COALESCE(a.pinned, 0) AS pinned
FROM document AS d JOIN scene AS s ON s.workspace_id = d.workspace_id AND s.id = d.item_id
JOIN scene_life AS l ON l.workspace_id = d.workspace_id AND l.scene_id = d.item_id
LEFT JOIN access AS a ON a.workspace_id = d.workspace_id AND a.item_id = d.item_id
WHERE d.workspace_id = :workspace AND d.kind = 'scene' AND d.happened_at >= :since
    AND (l.death IS NULL OR l.death = 'faded')
ORDER BY d.happened_at, d.item_id LIMIT :limit;

-- name: story_before
-- Find the last scene before a time.
SELECT d.item_id AS id, d.happened_at FROM document AS d
JOIN scene_life AS l ON l.workspace_id = d.workspace_id AND l.scene_id = d.item_id
WHERE d.workspace_id = :workspace AND d.kind = 'scene' AND d.happened_at < :at
    AND (l.death IS NULL OR l.death = 'faded')
ORDER BY d.happened_at DESC, d.item_id DESC LIMIT 1;

-- name: story_after
-- Find the first scene from a time on.
SELECT d.item_id AS id, d.happened_at FROM document AS d
JOIN scene_life AS l ON l.workspace_id = d.workspace_id AND l.scene_id = d.item_id
WHERE d.workspace_id = :workspace AND d.kind = 'scene' AND d.happened_at >= :at
    AND (l.death IS NULL OR l.death = 'faded')
ORDER BY d.happened_at, d.item_id LIMIT 1;

-- name: change_add
-- Record what a change did to one scene.
INSERT INTO scene_change (workspace_id, id, scene_id, act, author, was, became, reason)
VALUES (:workspace, :id, :scene, :act, :author, :was, :became, :reason);

-- name: change_of
-- Read the changes with some ids, scene by scene.
SELECT c.id, c.scene_id, c.act, c.author, c.was, c.became, c.reason, c.undone_by, c.lost, e.at, s.label
FROM scene_change AS c JOIN event AS e ON e.workspace_id = c.workspace_id AND e.id = c.id
LEFT JOIN session AS s ON s.workspace_id = e.workspace_id AND s.id = e.session_id
WHERE c.workspace_id = :workspace AND c.id IN (:*ids) ORDER BY c.id, c.scene_id;

-- name: change_about
-- List the changes of a scene, the newest first.
SELECT id FROM scene_change
WHERE workspace_id = :workspace AND scene_id = :scene AND id < :before ORDER BY id DESC LIMIT :limit;

-- name: change_later
-- List the changes of scenes after one that still hold, the newest first.
SELECT id, scene_id, lost FROM scene_change
WHERE workspace_id = :workspace AND scene_id IN (:*ids) AND id > :after AND act <> 'undo' AND undone_by IS NULL
ORDER BY id DESC;

-- name: change_undo
-- Record by which change another was undone, or that it holds again.
UPDATE scene_change SET undone_by = :by WHERE workspace_id = :workspace AND id = :id;

-- name: change_undone
-- List the changes that one has undone.
SELECT DISTINCT id FROM scene_change WHERE workspace_id = :workspace AND undone_by = :by;

-- name: change_texts
-- Read what changes of scenes tell.
SELECT id, scene_id, was, became, reason FROM scene_change WHERE workspace_id = :workspace;

-- name: change_told
-- Read what the changes of some scenes tell.
SELECT id, scene_id, was, became, reason FROM scene_change WHERE workspace_id = :workspace AND scene_id IN (:*ids)
ORDER BY id;

-- name: change_beside
-- Read the other scenes of the changes that concern some scenes.
SELECT id, scene_id, was, became, reason FROM scene_change
WHERE workspace_id = :workspace AND NOT (scene_id IN (:*ids))
    AND id IN (SELECT c.id FROM scene_change AS c WHERE c.workspace_id = :workspace AND c.scene_id IN (:*ids));

-- name: change_blank
-- Take the words out of a change, which can then no longer be undone.
UPDATE scene_change SET was = :was, became = :became, reason = :reason, lost = 1
WHERE workspace_id = :workspace AND id = :id AND scene_id = :scene;

-- name: change_lose
-- Record that words of changes were forgotten, for every scene that they concern.
UPDATE scene_change SET lost = 1 WHERE workspace_id = :workspace AND id IN (:*ids);

-- name: change_drop
-- Delete the changes of scenes.
DELETE FROM scene_change WHERE workspace_id = :workspace AND scene_id IN (:*ids);

-- name: life_copy
-- Give the parts of a scene its life: they are as old and as strong as it was.
UPDATE scene_life SET session_count = :session_count, reactivation_count = :reactivation_count,
    last_activated = :last_activated, status = :status, death = :death, dying_since = :dying_since, placed = :placed,
    split_from = :split_from
WHERE workspace_id = :workspace AND scene_id = :id;

-- name: life_weigh
-- Give a scene another importance; a dying one that is strong enough for it lives on.
UPDATE scene_life SET importance = :importance, lifespan = :lifespan,
    dying_since = CASE WHEN session_count - reactivation_count < :lifespan THEN NULL ELSE dying_since END,
    status = CASE WHEN status = 'dying' AND session_count - reactivation_count < :lifespan THEN 'active' ELSE status END
WHERE workspace_id = :workspace AND scene_id = :id;

-- name: life_end
-- Let a scene be alive, or dead for a reason.
UPDATE scene_life SET status = :status, death = :death, absorbed_into = :absorbed_into, dying_since = NULL, fresh = 0
WHERE workspace_id = :workspace AND scene_id = :id;

-- name: part_free
-- Let parts stand for themselves whose whole goes.
UPDATE scene_life SET split_from = NULL WHERE workspace_id = :workspace AND scene_id IN (:*ids);

-- name: whole_of
-- Find the scenes that parts were split from.
SELECT scene_id AS id, split_from FROM scene_life
WHERE workspace_id = :workspace AND scene_id IN (:*ids) AND split_from IS NOT NULL;

-- name: undone_on
-- List the scenes whose making was undone and that were made from others.
SELECT l.scene_id AS id, e.source_id FROM source AS e
JOIN scene_life AS l ON l.workspace_id = e.workspace_id AND l.scene_id = e.item_id
WHERE e.workspace_id = :workspace AND e.source_id IN (:*ids) AND l.death = 'undone';
