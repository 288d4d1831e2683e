-- Statements of what waits for review. `:workspace` is always the workspace of the unit of work.

-- name: held_add
-- Keep a call until a person decides.
INSERT INTO held (workspace_id, id, origin, call, arguments, digest, text, session, model_tier, at)
VALUES (:workspace, :id, :origin, :call, :arguments, :digest, :text, :session, :model_tier, :at);

-- name: held_same
-- Find a call that is waiting already.
SELECT id FROM held WHERE workspace_id = :workspace AND digest = :digest AND decision IS NULL;

-- name: held_of
-- Read calls by id, whatever was decided.
SELECT id, origin, call, arguments, text, session, model_tier, at, decision, decided_at, decided_by, reason FROM held
WHERE workspace_id = :workspace AND id IN (:*ids) ORDER BY id;

-- name: held_waiting
-- List the calls that wait, oldest first.
SELECT id, origin, call, arguments, text, session, model_tier, at, decision, decided_at, decided_by, reason FROM held
WHERE workspace_id = :workspace AND decision IS NULL AND id > :after ORDER BY id LIMIT :limit;

-- name: held_count
-- Count the calls that wait.
SELECT COUNT(*) AS count FROM held WHERE workspace_id = :workspace AND decision IS NULL;

-- name: held_decide
-- Record a decision, unless there is one.
UPDATE held SET decision = :decision, decided_at = :at, decided_by = :by, reason = :reason
WHERE workspace_id = :workspace AND id = :id AND decision IS NULL;

-- name: held_drop
-- Delete held writes that are forgotten; others that say the same are emptied.
DELETE FROM held WHERE workspace_id = :workspace AND id IN (:*ids);

-- name: held_texts
-- Read all calls with what they would store or have stored.
SELECT id, origin, call, arguments, text, reason, decision FROM held WHERE workspace_id = :workspace ORDER BY id;

-- name: held_blank
-- Take the words out of a call; one that waits is rejected by that.
UPDATE held SET origin = :origin, call = :call, arguments = '{}', text = '', digest = '', reason = NULL,
    decision = COALESCE(decision, 'rejected'), decided_at = COALESCE(decided_at, :at)
WHERE workspace_id = :workspace AND id = :id;
