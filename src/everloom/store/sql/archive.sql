-- Statements of the archive: exchanges to learn from, scheduled messages, and heartbeats.

-- name: facts_due
-- List exchanges whose facts are still to be learnt, leaving out those that pause after a failure.
SELECT id, facts_failures FROM exchange
WHERE workspace_id = :workspace AND facts_state = 'waiting' AND withdrawn_at IS NULL
    AND (facts_not_before IS NULL OR facts_not_before <= :now)
ORDER BY id LIMIT :limit;

-- name: facts_due_count
-- Count exchanges whose facts are still to be learnt, leaving out those that pause after a failure.
SELECT COUNT(*) AS count FROM exchange
WHERE workspace_id = :workspace AND facts_state = 'waiting' AND withdrawn_at IS NULL
    AND (facts_not_before IS NULL OR facts_not_before <= :now);

-- name: facts_next
-- Find when learning from an exchange that pauses after a failure is tried again.
SELECT MIN(facts_not_before) AS at FROM exchange
WHERE workspace_id = :workspace AND facts_state = 'waiting' AND withdrawn_at IS NULL;

-- name: facts_waiting_of
-- Select those exchanges whose facts are still to be learnt.
SELECT id, facts_failures FROM exchange
WHERE workspace_id = :workspace AND id IN (:*ids) AND facts_state = 'waiting' AND withdrawn_at IS NULL ORDER BY id;

-- name: facts_settle
-- Record how learning from an exchange ended, once.
UPDATE exchange SET facts_state = :state WHERE workspace_id = :workspace AND id = :id AND facts_state = 'waiting';

-- name: facts_failed
-- Pause an exchange after learning from it has failed.
UPDATE exchange SET facts_failures = facts_failures + 1, facts_not_before = :not_before
WHERE workspace_id = :workspace AND id = :id AND facts_state = 'waiting';

-- name: lines_of
-- Read the messages of exchanges, in both directions.
SELECT exchange_id, direction, channel, text, at, state, sender, kind FROM message
WHERE workspace_id = :workspace AND exchange_id IN (:*ids) AND state <> 'withdrawn' ORDER BY exchange_id, id;

-- name: said_before
-- List what both sides said, newest first, without messages that were never delivered, events and notices.
SELECT id, direction, channel, address, text, at, state, sender, kind FROM message
WHERE workspace_id = :workspace AND id < :before AND kind = 'message' AND state NOT IN ('refused', 'withdrawn', 'undeliverable')
ORDER BY id DESC LIMIT :limit;

-- name: sitting_last
-- Find the last sitting of the conversation, and when it was last active.
SELECT s.id, s.seen_at FROM session AS s JOIN item AS i ON i.workspace_id = s.workspace_id AND i.id = s.id
WHERE s.workspace_id = :workspace AND i.kind = 'sitting' ORDER BY s.id DESC LIMIT 1;

-- name: written_last
-- Find where and when a person last wrote.
SELECT id, channel, address, at FROM message
WHERE workspace_id = :workspace AND direction = 'in' AND kind = 'message' AND state NOT IN ('refused', 'withdrawn')
ORDER BY id DESC LIMIT 1;

-- name: heartbeat_add
-- Store the outcome of a heartbeat.
INSERT INTO heartbeat (workspace_id, id, at, outcome, reason, exchange_id)
VALUES (:workspace, :id, :at, :outcome, :reason, :exchange);

-- name: heartbeat_recent
-- List the newest heartbeats before one.
SELECT id, at, outcome, reason, exchange_id FROM heartbeat WHERE workspace_id = :workspace AND id < :before
ORDER BY id DESC LIMIT :limit;

-- name: scheduled_add
-- Store a scheduled message.
INSERT INTO scheduled (workspace_id, id, text, channel, address, due_at, every, state, created_at)
VALUES (:workspace, :id, :text, :channel, :address, :due_at, :every, 'waiting', :at);

-- name: scheduled_waiting
-- List the scheduled messages that are still waiting.
SELECT id, text, channel, address, due_at, every FROM scheduled
WHERE workspace_id = :workspace AND state = 'waiting' ORDER BY due_at, id LIMIT :limit;

-- name: scheduled_due
-- List the scheduled messages that are due.
SELECT id, text, channel, address, due_at, every FROM scheduled
WHERE workspace_id = :workspace AND state = 'waiting' AND due_at <= :now ORDER BY due_at, id LIMIT :limit;

-- name: scheduled_sent
-- Record that a scheduled message was sent; only one worker finds it waiting.
UPDATE scheduled SET state = 'sent' WHERE workspace_id = :workspace AND id = :id AND state = 'waiting' AND due_at = :due_at;

-- name: scheduled_again
-- Move a recurring message to its next time; only one worker finds it due.
UPDATE scheduled SET due_at = :next
WHERE workspace_id = :workspace AND id = :id AND state = 'waiting' AND due_at = :due_at;

-- name: scheduled_cancel
-- Cancel a scheduled message.
UPDATE scheduled SET state = 'cancelled' WHERE workspace_id = :workspace AND id = :id AND state = 'waiting';

-- name: scheduled_of
-- Read scheduled messages.
SELECT id, text, state, due_at FROM scheduled WHERE workspace_id = :workspace AND id IN (:*ids);

-- name: scheduled_drop
-- Delete scheduled messages.
DELETE FROM scheduled WHERE workspace_id = :workspace AND id IN (:*ids);

-- name: heartbeat_reasons
-- Read why the agent spoke or was silent.
SELECT id, reason, exchange_id FROM heartbeat WHERE workspace_id = :workspace;

-- name: heartbeat_blank
-- Take the words out of a heartbeat, and the exchange that it led to.
UPDATE heartbeat SET reason = :reason, exchange_id = :exchange WHERE workspace_id = :workspace AND id = :id;

-- name: intention_add
-- Keep an intention.
INSERT INTO intention (workspace_id, id, state, not_before, until, surfaced_at, exchange_id)
VALUES (:workspace, :id, 'open', :not_before, :until, NULL, NULL);

-- name: intention_open
-- List the open intentions, newest first.
SELECT i.id, i.state, i.not_before, i.until, i.surfaced_at, i.exchange_id, d.title, d.text, d.created_at
FROM intention AS i JOIN document AS d ON d.workspace_id = i.workspace_id AND d.item_id = i.id
WHERE i.workspace_id = :workspace AND i.state = 'open' ORDER BY i.id DESC LIMIT :limit;

-- name: intention_of
-- Read intentions.
SELECT i.id, i.state, i.not_before, i.until, i.surfaced_at, i.exchange_id, d.title, d.text, d.created_at
FROM intention AS i JOIN document AS d ON d.workspace_id = i.workspace_id AND d.item_id = i.id
WHERE i.workspace_id = :workspace AND i.id IN (:*ids) ORDER BY i.id;

-- name: intention_surface
-- Record in which exchange intentions came up.
UPDATE intention SET state = 'surfaced', surfaced_at = :at, exchange_id = :exchange
WHERE workspace_id = :workspace AND id IN (:*ids) AND state = 'open';

-- name: intention_drop
-- Drop an open intention.
UPDATE intention SET state = 'dropped' WHERE workspace_id = :workspace AND id = :id AND state = 'open';

-- name: intention_reopen
-- Open the intentions again that came up in exchanges that were withdrawn or forgotten.
UPDATE intention SET state = 'open', surfaced_at = NULL, exchange_id = NULL
WHERE workspace_id = :workspace AND exchange_id IN (:*exchanges);

-- name: intention_purge
-- Delete intentions that are forgotten.
DELETE FROM intention WHERE workspace_id = :workspace AND id IN (:*ids);
