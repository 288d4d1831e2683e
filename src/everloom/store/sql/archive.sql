-- Statements of the archive: what waits to be learnt from exchanges, what is to be said at a time, and heartbeats.

-- name: facts_due
SELECT id, facts_failures FROM exchange
WHERE workspace_id = :workspace AND facts_state = 'waiting' AND withdrawn_at IS NULL
    AND (facts_not_before IS NULL OR facts_not_before <= :now)
ORDER BY id LIMIT :limit;

-- name: facts_due_count
SELECT COUNT(*) AS count FROM exchange
WHERE workspace_id = :workspace AND facts_state = 'waiting' AND withdrawn_at IS NULL
    AND (facts_not_before IS NULL OR facts_not_before <= :now);

-- name: facts_waiting_of
SELECT id, facts_failures FROM exchange
WHERE workspace_id = :workspace AND id IN (:*ids) AND facts_state = 'waiting' AND withdrawn_at IS NULL ORDER BY id;

-- name: facts_settle
UPDATE exchange SET facts_state = :state WHERE workspace_id = :workspace AND id = :id AND facts_state = 'waiting';

-- name: facts_failed
UPDATE exchange SET facts_failures = facts_failures + 1, facts_not_before = :not_before
WHERE workspace_id = :workspace AND id = :id AND facts_state = 'waiting';

-- name: lines_of
SELECT exchange_id, direction, channel, text, at FROM message
WHERE workspace_id = :workspace AND exchange_id IN (:*ids) AND state <> 'withdrawn' ORDER BY exchange_id, id;

-- name: said_before
-- What both sides said, newest first; what never reached anybody was not said.
SELECT id, direction, channel, address, text, at, state FROM message
WHERE workspace_id = :workspace AND id < :before AND state NOT IN ('refused', 'withdrawn', 'undeliverable')
ORDER BY id DESC LIMIT :limit;

-- name: written_last
SELECT id, channel, address, at FROM message
WHERE workspace_id = :workspace AND direction = 'in' AND state NOT IN ('refused', 'withdrawn')
ORDER BY id DESC LIMIT 1;

-- name: heartbeat_add
INSERT INTO heartbeat (workspace_id, id, at, outcome, reason, exchange_id)
VALUES (:workspace, :id, :at, :outcome, :reason, :exchange);

-- name: heartbeat_recent
SELECT id, at, outcome, reason, exchange_id FROM heartbeat WHERE workspace_id = :workspace ORDER BY id DESC LIMIT :limit;

-- name: scheduled_add
INSERT INTO scheduled (workspace_id, id, text, channel, address, due_at, every, state, created_at)
VALUES (:workspace, :id, :text, :channel, :address, :due_at, :every, 'waiting', :at);

-- name: scheduled_waiting
SELECT id, text, channel, address, due_at, every FROM scheduled
WHERE workspace_id = :workspace AND state = 'waiting' ORDER BY due_at, id LIMIT :limit;

-- name: scheduled_due
SELECT id, text, channel, address, due_at, every FROM scheduled
WHERE workspace_id = :workspace AND state = 'waiting' AND due_at <= :now ORDER BY due_at, id LIMIT :limit;

-- name: scheduled_due_count
SELECT COUNT(*) AS count FROM scheduled WHERE workspace_id = :workspace AND state = 'waiting' AND due_at <= :now;

-- name: scheduled_sent
UPDATE scheduled SET state = 'sent' WHERE workspace_id = :workspace AND id = :id AND state = 'waiting' AND due_at = :due_at;

-- name: scheduled_again
UPDATE scheduled SET due_at = :next
WHERE workspace_id = :workspace AND id = :id AND state = 'waiting' AND due_at = :due_at;

-- name: scheduled_cancel
UPDATE scheduled SET state = 'cancelled' WHERE workspace_id = :workspace AND id = :id AND state = 'waiting';
