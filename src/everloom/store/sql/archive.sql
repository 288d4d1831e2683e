-- Statements of the archive: what waits to be learnt from exchanges, what is to be said at a time, and heartbeats.

-- name: facts_due
-- List exchanges from which facts are still to be learnt and may be now.
SELECT id, facts_failures FROM exchange
WHERE workspace_id = :workspace AND facts_state = 'waiting' AND withdrawn_at IS NULL
    AND (facts_not_before IS NULL OR facts_not_before <= :now)
ORDER BY id LIMIT :limit;

-- name: facts_due_count
-- Count exchanges from which facts are still to be learnt and may be now.
SELECT COUNT(*) AS count FROM exchange
WHERE workspace_id = :workspace AND facts_state = 'waiting' AND withdrawn_at IS NULL
    AND (facts_not_before IS NULL OR facts_not_before <= :now);

-- name: facts_waiting_of
-- Pick out of some exchanges those from which facts are still to be learnt.
SELECT id, facts_failures FROM exchange
WHERE workspace_id = :workspace AND id IN (:*ids) AND facts_state = 'waiting' AND withdrawn_at IS NULL ORDER BY id;

-- name: facts_settle
-- Note that an exchange has been learnt from, once.
UPDATE exchange SET facts_state = :state WHERE workspace_id = :workspace AND id = :id AND facts_state = 'waiting';

-- name: facts_failed
-- Let an exchange rest after learning from it failed.
UPDATE exchange SET facts_failures = facts_failures + 1, facts_not_before = :not_before
WHERE workspace_id = :workspace AND id = :id AND facts_state = 'waiting';

-- name: lines_of
-- Read the messages of exchanges, both ways.
SELECT exchange_id, direction, channel, text, at FROM message
WHERE workspace_id = :workspace AND exchange_id IN (:*ids) AND state <> 'withdrawn' ORDER BY exchange_id, id;

-- name: said_before
-- What both sides said, newest first; what never reached anybody was not said.
SELECT id, direction, channel, address, text, at, state FROM message
WHERE workspace_id = :workspace AND id < :before AND state NOT IN ('refused', 'withdrawn', 'undeliverable')
ORDER BY id DESC LIMIT :limit;

-- name: written_last
-- Find where and when a person last wrote.
SELECT id, channel, address, at FROM message
WHERE workspace_id = :workspace AND direction = 'in' AND state NOT IN ('refused', 'withdrawn')
ORDER BY id DESC LIMIT 1;

-- name: heartbeat_add
-- Keep what came of a heartbeat.
INSERT INTO heartbeat (workspace_id, id, at, outcome, reason, exchange_id)
VALUES (:workspace, :id, :at, :outcome, :reason, :exchange);

-- name: heartbeat_recent
-- List the newest heartbeats.
SELECT id, at, outcome, reason, exchange_id FROM heartbeat WHERE workspace_id = :workspace ORDER BY id DESC LIMIT :limit;

-- name: scheduled_add
-- Keep a message that is to be said at a time.
INSERT INTO scheduled (workspace_id, id, text, channel, address, due_at, every, state, created_at)
VALUES (:workspace, :id, :text, :channel, :address, :due_at, :every, 'waiting', :at);

-- name: scheduled_waiting
-- List the messages that wait for their time.
SELECT id, text, channel, address, due_at, every FROM scheduled
WHERE workspace_id = :workspace AND state = 'waiting' ORDER BY due_at, id LIMIT :limit;

-- name: scheduled_due
-- List the messages whose time has come.
SELECT id, text, channel, address, due_at, every FROM scheduled
WHERE workspace_id = :workspace AND state = 'waiting' AND due_at <= :now ORDER BY due_at, id LIMIT :limit;

-- name: scheduled_sent
-- Note that a message was said; only one worker finds it waiting.
UPDATE scheduled SET state = 'sent' WHERE workspace_id = :workspace AND id = :id AND state = 'waiting' AND due_at = :due_at;

-- name: scheduled_again
-- Move a repeated message to its next time; only one worker finds it due.
UPDATE scheduled SET due_at = :next
WHERE workspace_id = :workspace AND id = :id AND state = 'waiting' AND due_at = :due_at;

-- name: scheduled_cancel
-- Take back a message that waits.
UPDATE scheduled SET state = 'cancelled' WHERE workspace_id = :workspace AND id = :id AND state = 'waiting';
