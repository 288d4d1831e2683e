-- Statements of the kernel. `:workspace` is always the workspace of the unit of work.

-- name: count_above (global)
-- Let workspaces that are made later begin above a number.
UPDATE counter SET last = MAX(last, :last) WHERE name = 'item';

-- name: store_identity (global)
-- Read which store this is.
SELECT id FROM store_identity;

-- name: incarnation (global)
-- Read which life of the store this is.
SELECT incarnation FROM store_identity;

-- name: life (global)
-- Read which life of the store this is, who may use it, and whether the workspace is on its way to another one.
SELECT s.incarnation, s.oldest_program, w.name, w.state, w.destination, w.word_base
FROM store_identity AS s LEFT JOIN workspace AS w ON w.id = :workspace;

-- name: reincarnate (global)
-- Begin a new life of the store: what other processes know of it no longer holds.
UPDATE store_identity SET incarnation = :incarnation;

-- name: schema_version (global)
-- Read the number of the newest step that the store has.
SELECT user_version AS number FROM pragma_user_version;

-- name: oldest_program (global)
-- Read which step a program must know to use the store.
SELECT oldest_program FROM store_identity;

-- name: oldest_program_set (global)
-- Leave the store to programs that know a step.
UPDATE store_identity SET oldest_program = :oldest;

-- name: identify (global)
-- Take over the identity of the store that this one replaces.
UPDATE store_identity SET id = :id;

-- name: workspace_add (global)
-- Create a workspace, unless one of that name already exists.
INSERT INTO workspace (id, name, name_key, description, time_zone, created_at)
VALUES (:id, :name, :name_key, :description, :time_zone, :at)
ON CONFLICT (name_key) DO NOTHING;

-- name: workspace_by_key (global)
-- Find a workspace by its name, in any spelling.
SELECT id, name, description, time_zone, created_at, state, destination FROM workspace WHERE name_key = :name_key;

-- name: workspace_by_id (global)
-- Find a workspace by its id.
SELECT id, name, description, time_zone, created_at FROM workspace WHERE id = :id AND state IN ('here', 'leaving');

-- name: workspace_all (global)
-- List the workspaces of the store, oldest first.
SELECT id, name, description, time_zone, created_at FROM workspace WHERE state IN ('here', 'leaving') ORDER BY created_at, id;

-- name: workspace_zone
-- Read the time zone of the workspace.
SELECT time_zone FROM workspace WHERE id = :workspace;

-- name: workspace_change
-- Rename or describe the workspace, or change its time zone.
UPDATE workspace SET name = :name, name_key = :name_key, description = :description, time_zone = :time_zone
WHERE id = :workspace;

-- name: workspace_arrive (global)
-- Make room for a workspace from elsewhere. Nobody sees it; its key is no name.
INSERT INTO workspace (id, name, name_key, description, time_zone, created_at, state, journey, word_base)
VALUES (:id, :name, :name_key, :description, :time_zone, :created_at, 'arriving', :journey, :word_base);

-- name: workspace_journeys (global)
-- List the workspaces that are on their way, or came or went by a journey.
SELECT id, name, name_key, description, time_zone, created_at, state, journey, destination, departed_at, word_base
FROM workspace WHERE state <> 'here' OR journey IS NOT NULL OR word_base <> 0 ORDER BY created_at, id;

-- name: workspace_arrived
-- Show a workspace that is whole, under its name.
UPDATE workspace SET state = 'here', name_key = :name_key WHERE id = :workspace AND state = 'arriving';

-- name: workspace_leave
-- Close a workspace for writing, because it goes to another store.
UPDATE workspace SET state = 'leaving', journey = :journey, destination = :destination WHERE id = :workspace AND state = 'here';

-- name: workspace_stay
-- Open a workspace again that did not leave.
UPDATE workspace SET state = 'here', journey = NULL, destination = NULL WHERE id = :workspace AND state = 'leaving';

-- name: workspace_left
-- Record that a workspace has gone, once it has been emptied.
UPDATE workspace SET state = 'gone', departed_at = :at WHERE id = :workspace AND state = 'leaving';

-- name: workspace_settled
-- Forget by which journey a workspace came, once that is over at both ends.
UPDATE workspace SET journey = NULL WHERE id = :workspace AND state = 'here';

-- name: workspace_give_up (global)
-- Delete what is left of a workspace that went elsewhere, so that its name is free.
DELETE FROM workspace WHERE name_key = :name_key AND state = 'gone';

-- name: lease_remove
-- Delete the lease of a task that is done once and never again.
DELETE FROM lease WHERE workspace_id = :workspace AND task = :task;

-- name: workspace_drop
-- Delete the workspace itself, once it has been emptied.
DELETE FROM workspace WHERE id = :workspace;

-- name: grant_add
-- Let another workspace send messages to this one.
INSERT INTO party_grant (workspace_id, sender, at) VALUES (:workspace, :sender, :at) ON CONFLICT DO NOTHING;

-- name: grant_get
-- Find out whether a workspace may send messages to this one.
SELECT sender FROM party_grant WHERE workspace_id = :workspace AND sender = :sender;

-- name: grant_all
-- List whose messages this workspace takes, oldest grant first.
SELECT g.sender, w.name, g.at FROM party_grant AS g JOIN workspace AS w ON w.id = g.sender
WHERE g.workspace_id = :workspace ORDER BY g.at, g.sender;

-- name: grant_drop
-- Take no more messages from a workspace.
DELETE FROM party_grant WHERE workspace_id = :workspace AND sender = :sender;

-- name: item_add
-- Register an item under its id, whatever kind of thing it is.
INSERT INTO item (workspace_id, id, kind, created_at) VALUES (:workspace, :id, :kind, :at);

-- name: item_get
-- Look up what kind of thing an id names.
SELECT id, kind, created_at FROM item WHERE workspace_id = :workspace AND id = :id;

-- name: item_kinds
-- Look up the kinds of many ids at once.
SELECT id, kind FROM item WHERE workspace_id = :workspace AND id IN (:*ids);

-- name: item_counts
-- Count the items of each kind.
SELECT kind, COUNT(*) AS count FROM item WHERE workspace_id = :workspace GROUP BY kind ORDER BY kind;

-- name: item_drop
-- Unregister items that were deleted.
DELETE FROM item WHERE workspace_id = :workspace AND id IN (:*ids);

-- name: session_by_label
-- Find a session by its label.
SELECT id, label, model_tier, started_at, seen_at FROM session WHERE workspace_id = :workspace AND label = :label;

-- name: session_attend
-- Record that a session is active now, and read it.
UPDATE session SET seen_at = :at, model_tier = COALESCE(:model_tier, model_tier)
WHERE workspace_id = :workspace AND label = :label RETURNING id, label, model_tier, started_at, seen_at;

-- name: session_labels
-- Read the labels of sessions.
SELECT id, label FROM session WHERE workspace_id = :workspace AND id IN (:*ids);

-- name: session_get
-- Read one session.
SELECT id, label, model_tier, started_at, seen_at FROM session WHERE workspace_id = :workspace AND id = :id;

-- name: session_add
-- Add a session.
INSERT INTO session (workspace_id, id, label, model_tier, started_at, seen_at)
VALUES (:workspace, :id, :label, :model_tier, :at, :at);

-- name: session_touch
-- Record that a session is active now.
UPDATE session SET seen_at = :at, model_tier = COALESCE(:model_tier, model_tier)
WHERE workspace_id = :workspace AND id = :id;

-- name: session_recent
-- List the recently active sessions of clients, newest first; the sittings of the conversation are of another kind.
SELECT s.id, s.label, s.model_tier, s.started_at, s.seen_at FROM session AS s
JOIN item AS i ON i.workspace_id = s.workspace_id AND i.id = s.id AND i.kind = 'session'
WHERE s.workspace_id = :workspace AND s.seen_at BETWEEN :seen_from AND :seen_until AND s.started_at >= :started_from
    AND s.started_at < :started_until
ORDER BY s.seen_at DESC, s.id DESC LIMIT :limit;

-- name: event_add
-- Append to the audit trail.
INSERT INTO event (workspace_id, id, at, operation, session_id, detail)
VALUES (:workspace, :id, :at, :operation, :session, :detail);

-- name: event_recent
-- Read the audit trail backwards.
SELECT id, at, operation, session_id, detail FROM event
WHERE workspace_id = :workspace AND id < :before ORDER BY id DESC LIMIT :limit;

-- name: event_after
-- Read the audit trail forwards, from where a reader left off.
SELECT id, at, operation, session_id, detail FROM event
WHERE workspace_id = :workspace AND id > :after ORDER BY id LIMIT :limit;

-- name: event_get
-- Read one event.
SELECT id, at, operation, session_id, detail FROM event WHERE workspace_id = :workspace AND id = :id;

-- name: receipt_get
-- Find the answer that was first given under an idempotency key.
SELECT operation, request_hash, answer FROM receipt WHERE workspace_id = :workspace AND idempotency_key = :key;

-- name: receipt_add
-- Store the answer of an operation under its idempotency key.
INSERT INTO receipt (workspace_id, idempotency_key, operation, request_hash, answer, at)
VALUES (:workspace, :key, :operation, :request_hash, :answer, :at);

-- name: receipt_expire
-- Delete expired receipts.
DELETE FROM receipt WHERE workspace_id = :workspace AND at < :before;

-- name: source_add
-- Record that an item rests on another.
INSERT INTO source (workspace_id, item_id, source_id) VALUES (:workspace, :item, :source) ON CONFLICT DO NOTHING;

-- name: source_of
-- List what items rest on.
SELECT item_id, source_id FROM source WHERE workspace_id = :workspace AND item_id IN (:*ids) ORDER BY source_id;

-- name: source_resting
-- List what rests on items.
SELECT DISTINCT item_id FROM source WHERE workspace_id = :workspace AND source_id IN (:*ids) ORDER BY item_id;

-- name: trust_lower
-- Trust documents no more than the least trusted document that they rest on.
UPDATE document SET trust = (
    SELECT MAX(d.trust) FROM source AS e JOIN document AS d ON d.workspace_id = e.workspace_id AND d.item_id = e.source_id
    WHERE e.workspace_id = :workspace AND e.item_id = document.item_id)
WHERE workspace_id = :workspace AND item_id IN (:*ids) AND EXISTS (
    SELECT 1 FROM source AS e JOIN document AS d ON d.workspace_id = e.workspace_id AND d.item_id = e.source_id
    WHERE e.workspace_id = :workspace AND e.item_id = document.item_id
        AND d.trust > COALESCE(document.trust, -1));

-- name: trust_of_session
-- Find the rank of the least trusted document of a session.
SELECT MAX(trust) AS trust FROM document WHERE workspace_id = :workspace AND session_id = :session AND item_id <> :item;

-- name: trust_set
-- Trust a document no more than this.
UPDATE document SET trust = :trust WHERE workspace_id = :workspace AND item_id = :item AND COALESCE(trust, -1) < :trust;

-- name: source_unlink
-- Forget that an item comes from another.
DELETE FROM source WHERE workspace_id = :workspace AND item_id = :item AND source_id = :source;

-- name: source_drop
-- Delete the provenance of deleted items, in both directions.
DELETE FROM source WHERE workspace_id = :workspace AND (item_id IN (:*ids) OR source_id IN (:*ids));

-- name: access_count
-- Count one access to each of some items.
INSERT INTO access (workspace_id, item_id, count, last_at, pinned, useful, questionable)
SELECT :workspace, i.value, 1, :at, 0, 0, 0 FROM json_each(:items) AS i WHERE 1 = 1
ON CONFLICT (workspace_id, item_id) DO UPDATE SET count = access.count + 1, last_at = excluded.last_at,
    lent = 0;

-- name: access_pin
-- Pin or unpin an item; that is no access, so the row has no time.
INSERT INTO access (workspace_id, item_id, count, last_at, pinned, useful, questionable)
VALUES (:workspace, :item, 0, 0, :pinned, 0, 0)
ON CONFLICT (workspace_id, item_id) DO UPDATE SET pinned = excluded.pinned;

-- name: access_verdict
-- Count one verdict on an item; that is no access, so the row has no time.
INSERT INTO access (workspace_id, item_id, count, last_at, pinned, useful, questionable)
VALUES (:workspace, :item, 0, 0, 0, :useful, :questionable)
ON CONFLICT (workspace_id, item_id) DO UPDATE
SET useful = access.useful + excluded.useful, questionable = access.questionable + excluded.questionable;

-- name: access_of
-- Read the access counts of items and their verdicts.
SELECT item_id, count, last_at, pinned, useful, questionable FROM access
WHERE workspace_id = :workspace AND item_id IN (:*ids);

-- name: access_drop
-- Delete the access counts of deleted items.
DELETE FROM access WHERE workspace_id = :workspace AND item_id IN (:*ids);

-- name: signal_add
-- Store a verdict on an item, with its reason.
INSERT INTO signal (workspace_id, id, target_id, verdict, reason, session_id, at)
VALUES (:workspace, :id, :target, :verdict, :reason, :session, :at);

-- name: signal_of
-- List the verdicts on items, oldest first.
SELECT id, target_id, verdict, reason, session_id, at FROM signal
WHERE workspace_id = :workspace AND target_id IN (:*ids) ORDER BY id;

-- name: signal_recent
-- List the newest verdicts of one kind.
SELECT id, target_id, verdict, reason, session_id, at FROM signal
WHERE workspace_id = :workspace AND verdict = :verdict AND id > :after ORDER BY id DESC LIMIT :limit;

-- name: signal_drop
-- Delete the verdicts on deleted items.
DELETE FROM signal WHERE workspace_id = :workspace AND target_id IN (:*ids);

-- name: lease_take
-- Take the lease of a task if it is free and the task is not pausing; the token grows each time.
INSERT INTO lease (workspace_id, task, holder, token, held_until, failures, not_before)
VALUES (:workspace, :task, :holder, 1, :held_until, 0, 0)
ON CONFLICT (workspace_id, task) DO UPDATE
SET holder = excluded.holder, token = lease.token + 1, held_until = excluded.held_until
WHERE lease.held_until <= :now AND lease.not_before <= :now
RETURNING token;

-- name: lease_extend
-- Extend a lease, unless another holder has taken it since.
UPDATE lease SET held_until = :held_until
WHERE workspace_id = :workspace AND task = :task AND token = :token AND holder IS NOT NULL;

-- name: lease_done
-- Release a lease after a successful run, and store its report.
UPDATE lease SET holder = NULL, held_until = 0, failures = 0, not_before = 0, last_error = NULL,
    last_run_at = :now, last_report = :report
WHERE workspace_id = :workspace AND task = :task AND token = :token;

-- name: lease_failed
-- Release a lease after a failed run, and pause the task.
UPDATE lease SET holder = NULL, held_until = 0, failures = failures + 1, not_before = :not_before, last_error = :error,
    last_run_at = :now
WHERE workspace_id = :workspace AND task = :task AND token = :token;

-- name: lease_drop
-- Release a lease without recording a run.
UPDATE lease SET holder = NULL, held_until = 0 WHERE workspace_id = :workspace AND task = :task AND token = :token;

-- name: lease_get
-- Read the lease of one task.
SELECT task, holder, token, held_until, failures, not_before, last_error, last_run_at, last_report FROM lease
WHERE workspace_id = :workspace AND task = :task;

-- name: lease_all
-- Read the leases of all tasks.
SELECT task, holder, token, held_until, failures, not_before, last_error, last_run_at, last_report FROM lease
WHERE workspace_id = :workspace ORDER BY task;

-- name: lease_free
-- Take a lease away from a holder that is known to be dead.
UPDATE lease SET held_until = 0 WHERE workspace_id = :workspace AND task = :task AND token = :token;

-- name: lease_release
-- Allow a task that is pausing after failures to run now.
UPDATE lease SET not_before = 0 WHERE workspace_id = :workspace AND task = :task AND held_until <= :now;

-- name: due_mark
-- Let a task look at the workspace from a moment on. A mark that is sooner stays as it is, without a write; one that
-- somebody looks after at the moment shows that there is news.
INSERT INTO due (workspace_id, task, at) VALUES (:workspace, :task, :at)
ON CONFLICT (workspace_id, task) DO UPDATE
SET at = CASE WHEN due.at > excluded.at THEN excluded.at ELSE due.at END, claim = 0
WHERE due.at > excluded.at OR due.claim <> 0;

-- name: due_look (global)
-- List the tasks that should look at a workspace by now, the longest waiting first.
SELECT d.task, w.id, w.name, w.description, w.time_zone, w.created_at FROM due AS d JOIN workspace AS w ON w.id = d.workspace_id
WHERE d.task IN (:*tasks) AND d.at <= :now AND w.state = 'here' ORDER BY d.at, d.workspace_id, d.task LIMIT :limit;

-- name: due_unaudited (global)
-- List workspaces that were never audited or, unless every basis counts, by other settings.
SELECT id, name, description, time_zone, created_at FROM workspace WHERE state = 'here' AND id NOT IN (
    SELECT workspace_id FROM due WHERE task = 'audit' AND basis <> '' AND (:every_basis = 1 OR basis = :basis)
) ORDER BY id LIMIT :limit;

-- name: due_all
-- Read all marks of the workspace.
SELECT task, at, basis FROM due WHERE workspace_id = :workspace ORDER BY task;

-- name: due_claim
-- Note that somebody looks after a mark now.
UPDATE due SET claim = :claim WHERE workspace_id = :workspace AND task = :task;

-- name: due_settle
-- Let a task look again at a known moment, unless it was marked since somebody looked after it.
UPDATE due SET at = :at, claim = 0 WHERE workspace_id = :workspace AND task = :task AND claim = :claim;

-- name: due_drop
-- Remove a mark for which there was nothing to do, unless it was marked since somebody looked after it.
DELETE FROM due WHERE workspace_id = :workspace AND task = :task AND claim = :claim;

-- name: due_audited
-- Record by which settings the workspace was audited, and when it is to be audited again.
UPDATE due SET at = :at, claim = 0, basis = :basis WHERE workspace_id = :workspace AND task = 'audit' AND claim = :claim;

-- name: job_add
-- Begin a job.
INSERT INTO job (workspace_id, id, work, state, holder, held_until, stop_asked, started_at, changed_at, changed, done, due)
VALUES (:workspace, :id, :work, 'running', :holder, :held_until, 0, :now, :now, :id, 0, :due);

-- name: job_get
-- Read one job.
SELECT id, work, state, holder, held_until, stop_asked, started_at, changed_at, ended_at, changed, done, due, task, report,
    error
FROM job WHERE workspace_id = :workspace AND id = :id;

-- name: job_recent
-- List the newest jobs before one of them.
SELECT id, work, state, holder, held_until, stop_asked, started_at, changed_at, ended_at, changed, done, due, task, report,
    error
FROM job WHERE workspace_id = :workspace AND id < :before ORDER BY id DESC LIMIT :limit;

-- name: job_after
-- List the jobs that have changed after a change, in the order of their changes.
SELECT id, work, state, holder, held_until, stop_asked, started_at, changed_at, ended_at, changed, done, due, task, report,
    error
FROM job WHERE workspace_id = :workspace AND changed > :after ORDER BY changed LIMIT :limit;

-- name: job_running
-- List the jobs that have not ended, as far as anybody has recorded it.
SELECT id, work, state, holder, held_until, stop_asked, started_at, changed_at, ended_at, changed, done, due, task, report,
    error
FROM job WHERE workspace_id = :workspace AND state = 'running' ORDER BY id;

-- name: job_moved
-- Record how far a running job has come, and hold it on; tells whether it should stop.
UPDATE job SET held_until = :held_until, changed_at = :now, changed = :changed, done = :done, due = :due, task = :task
WHERE workspace_id = :workspace AND id = :id AND state = 'running' AND holder = :holder
RETURNING stop_asked;

-- name: job_ended
-- Record how a running job has ended.
UPDATE job SET state = :state, held_until = 0, changed_at = :now, ended_at = :now, changed = :changed, done = :done,
    task = NULL, report = :report, error = :error
WHERE workspace_id = :workspace AND id = :id AND state = 'running' AND holder = :holder;

-- name: job_gone
-- Record that the holder of a job has died.
UPDATE job SET state = 'gone', held_until = 0, changed_at = :now, ended_at = :now, changed = :changed
WHERE workspace_id = :workspace AND id = :id AND state = 'running' AND holder = :holder;

-- name: job_stop
-- Ask whoever runs a job to stop it.
UPDATE job SET stop_asked = 1 WHERE workspace_id = :workspace AND id = :id AND state = 'running';

-- name: job_prune
-- Delete the jobs that ended long ago.
DELETE FROM job WHERE workspace_id = :workspace AND ended_at < :before;

-- name: usage_add
-- Record one call of a model.
INSERT INTO usage (workspace_id, id, at, model, role, purpose, input_tokens, output_tokens, cache_read_tokens,
    cache_write_tokens, micro_dollars, milliseconds, error)
VALUES (:workspace, :id, :at, :model, :role, :purpose, :input, :output, :cache_read, :cache_write, :micro_dollars,
    :milliseconds, :error);

-- name: usage_sum
-- Sum the use and the cost of models in a period, by model, role and purpose.
SELECT model, role, purpose, COUNT(*) AS calls, SUM(input_tokens) AS input_tokens, SUM(output_tokens) AS output_tokens,
    SUM(cache_read_tokens) AS cache_read_tokens, SUM(cache_write_tokens) AS cache_write_tokens,
    SUM(micro_dollars) AS micro_dollars, COUNT(error) AS failures, COUNT(*) - COUNT(micro_dollars) AS unpriced
FROM usage WHERE workspace_id = :workspace AND at >= :from AND at < :until
GROUP BY model, role, purpose ORDER BY model, role, purpose;

-- name: usage_days
-- Sum by days that begin so many microseconds before those of UTC.
SELECT (at + :shift) / 86400000000 AS day, model, role, purpose, COUNT(*) AS calls, SUM(input_tokens) AS input_tokens,
    SUM(output_tokens) AS output_tokens, SUM(cache_read_tokens) AS cache_read_tokens,
    SUM(cache_write_tokens) AS cache_write_tokens, SUM(micro_dollars) AS micro_dollars, COUNT(error) AS failures,
    COUNT(*) - COUNT(micro_dollars) AS unpriced
FROM usage WHERE workspace_id = :workspace AND at >= :from AND at < :until
GROUP BY day, model, role, purpose ORDER BY day, model, role, purpose;
