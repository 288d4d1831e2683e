-- Statements of forgetting: what is chosen, what refers to it, and what is left of it.

-- name: of_session
-- List the documents that were written in a session, whatever they are.
SELECT item_id AS id FROM document WHERE workspace_id = :workspace AND session_id = :session AND kind <> 'subject'
ORDER BY item_id LIMIT :limit;

-- name: of_period
-- List the evidence of a period; what was concluded from it follows from it.
SELECT item_id AS id FROM document WHERE workspace_id = :workspace AND standing = 'evidence' AND kind <> 'subject'
    AND happened_at BETWEEN :begin AND :end
ORDER BY item_id LIMIT :limit;

-- name: resting_on
-- List the items that rest on some.
SELECT item_id, source_id FROM source WHERE workspace_id = :workspace AND source_id IN (:*ids) ORDER BY item_id, source_id;

-- name: context_holding
-- Find documents that repeat a text in what surrounds them.
SELECT item_id AS id FROM document WHERE workspace_id = :workspace AND context <> '' AND context LIKE :pattern ESCAPE '!'
ORDER BY item_id;

-- name: unretire
-- Forget what replaced a document, once that is forgotten.
UPDATE document SET retired_by = NULL WHERE workspace_id = :workspace AND retired_by IN (:*ids);

-- name: term_prune
-- Delete words that no document holds any more.
DELETE FROM term WHERE workspace_id = :workspace AND documents <= 0;

-- name: signal_ids
-- List the verdicts on items.
SELECT id FROM signal WHERE workspace_id = :workspace AND target_id IN (:*ids);

-- name: event_page
-- Read the audit trail forwards, with who acted.
SELECT id, detail FROM event WHERE workspace_id = :workspace AND id > :after ORDER BY id LIMIT :limit;

-- name: event_blank
-- Take the words out of an event.
UPDATE event SET detail = :detail WHERE workspace_id = :workspace AND id = :id;

-- name: receipt_all
-- Read the answers that are kept for calls that may be repeated.
SELECT idempotency_key, answer FROM receipt WHERE workspace_id = :workspace;

-- name: receipt_blank
-- Take the words out of an answer; the key stays used.
UPDATE receipt SET answer = :answer, request_hash = '' WHERE workspace_id = :workspace AND idempotency_key = :key;

-- name: receipt_drop
-- Delete an answer whose key repeats what was forgotten.
DELETE FROM receipt WHERE workspace_id = :workspace AND idempotency_key = :key;

-- name: lease_texts
-- Read what tasks last said.
SELECT task, last_error, last_report FROM lease WHERE workspace_id = :workspace;

-- name: lease_blank
-- Take the words out of what a task last said.
UPDATE lease SET last_error = :error, last_report = :report WHERE workspace_id = :workspace AND task = :task;

-- name: job_texts
-- Read what jobs said.
SELECT id, report, error FROM job WHERE workspace_id = :workspace AND (report IS NOT NULL OR error IS NOT NULL);

-- name: job_blank
-- Take the words out of what a job said.
UPDATE job SET error = :error, report = :report WHERE workspace_id = :workspace AND id = :id;

-- name: usage_errors
-- Read the errors of models.
SELECT id, error FROM usage WHERE workspace_id = :workspace AND error IS NOT NULL;

-- name: usage_blank
-- Take the words out of an error.
UPDATE usage SET error = :error WHERE workspace_id = :workspace AND id = :id;

-- name: tombstone_add
-- Record that an item was forgotten.
INSERT INTO tombstone (workspace_id, item_id, kind, at, event_id) VALUES (:workspace, :item, :kind, :at, :event);

-- name: digest_add
-- Record by what a forgotten item is recognised.
INSERT INTO tombstone_digest (workspace_id, digest, item_id) VALUES (:workspace, :digest, :item) ON CONFLICT DO NOTHING;

-- name: digest_known
-- Find tombstones by what is about to be stored.
SELECT d.digest, t.item_id, t.kind, t.at FROM tombstone_digest AS d
JOIN tombstone AS t ON t.workspace_id = d.workspace_id AND t.item_id = d.item_id
WHERE d.workspace_id = :workspace AND d.digest IN (:*digests) ORDER BY t.item_id;

-- name: digest_drop
-- Let go of what forgotten items are recognised by.
DELETE FROM tombstone_digest WHERE workspace_id = :workspace AND item_id IN (:*ids);

-- name: tombstone_lift
-- Record that tombstones keep nothing away any more.
UPDATE tombstone SET lifted_at = :at WHERE workspace_id = :workspace AND item_id IN (:*ids) AND lifted_at IS NULL;

-- name: tombstone_of
-- Read the tombstones of items.
SELECT item_id, kind, at, event_id, lifted_at FROM tombstone WHERE workspace_id = :workspace AND item_id IN (:*ids);

-- name: tombstone_recent
-- List the newest tombstones after a place in this order, with the session that forgot.
SELECT t.item_id, t.kind, t.at, t.event_id, t.scrubbed_at, t.lifted_at, s.label AS session FROM tombstone AS t
JOIN event AS e ON e.workspace_id = t.workspace_id AND e.id = t.event_id
LEFT JOIN session AS s ON s.workspace_id = e.workspace_id AND s.id = e.session_id
WHERE t.workspace_id = :workspace AND (t.event_id, t.item_id) < (:event, :item)
ORDER BY t.event_id DESC, t.item_id DESC LIMIT :limit;

-- name: tombstone_count
-- Count the tombstones.
SELECT COUNT(*) AS count FROM tombstone WHERE workspace_id = :workspace;

-- name: unscrubbed_count
-- Count the forgotten items whose words may still be in the engine's files.
SELECT COUNT(*) AS count FROM tombstone WHERE workspace_id = :workspace AND scrubbed_at IS NULL;

-- name: scrubbed
-- Record that the engine's files are clean of what was forgotten until now.
UPDATE tombstone SET scrubbed_at = :at WHERE workspace_id = :workspace AND scrubbed_at IS NULL AND event_id <= :through;

-- name: newest_forgetting
-- Find the last forgetting whose words may still be in the engine's files.
SELECT COALESCE(MAX(event_id), 0) AS id FROM tombstone WHERE workspace_id = :workspace AND scrubbed_at IS NULL;

-- name: secret_get
-- Read the secret that tombstones are made with.
SELECT secret FROM tombstone_secret WHERE workspace_id = :workspace;

-- name: secret_add
-- Store the secret that tombstones are made with.
INSERT INTO tombstone_secret (workspace_id, secret) VALUES (:workspace, :secret) ON CONFLICT DO NOTHING;

-- name: lease_fence
-- Take the leases of all tasks but one: what has read what is being forgotten can no longer write.
UPDATE lease SET holder = NULL, held_until = 0, token = token + 1
WHERE workspace_id = :workspace AND holder IS NOT NULL AND NOT (task = :task AND holder = :holder);

-- name: session_relabel
-- Replace the label of a session, which somebody wrote.
UPDATE session SET label = :label WHERE workspace_id = :workspace AND id = :id;

-- name: perspective_vectors_drop
-- Delete the vectors of perspectives.
DELETE FROM embedding WHERE workspace_id = :workspace AND perspective_id IN (:*ids);

-- name: perspective_drop
-- Delete perspectives that have no vectors left.
DELETE FROM perspective WHERE workspace_id = :workspace AND id IN (:*ids);
