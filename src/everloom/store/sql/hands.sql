-- name: tool_all
-- List the tools of other programs that were ever allowed.
SELECT server, tool, told, allowed, is_always, is_gone, told_at FROM hand_tool
WHERE workspace_id = :workspace ORDER BY server, tool;

-- name: tool_get
-- Read one tool.
SELECT server, tool, told, allowed, is_always, is_gone, told_at FROM hand_tool
WHERE workspace_id = :workspace AND server = :server AND tool = :tool;

-- name: tool_put
-- Store how a server describes a tool now; how it was allowed stays.
INSERT INTO hand_tool (workspace_id, server, tool, told, allowed, is_always, is_gone, told_at)
VALUES (:workspace, :server, :tool, :told, :allowed, 0, 0, :at)
ON CONFLICT (workspace_id, server, tool) DO UPDATE SET told = excluded.told, is_gone = 0, told_at = excluded.told_at;

-- name: tool_gone
-- Note that a server no longer lists a tool.
UPDATE hand_tool SET is_gone = 1, told_at = :at WHERE workspace_id = :workspace AND server = :server AND tool = :tool;

-- name: tool_allow
-- Allow a tool as its server describes it, if it still does; what may run unasked is decided anew.
UPDATE hand_tool SET allowed = :told, is_always = 0
WHERE workspace_id = :workspace AND server = :server AND tool = :tool AND told = :told;

-- name: tool_always
-- Note whether a tool need not ask again, as long as it is the one that was allowed.
UPDATE hand_tool SET is_always = :is_always
WHERE workspace_id = :workspace AND server = :server AND tool = :tool AND told = allowed;

-- name: server_all
-- List the servers of tools, and how they were last reached.
SELECT server, listed_at, failed_at, last_error FROM hand_server WHERE workspace_id = :workspace ORDER BY server;

-- name: server_listed
-- Note that a server has told its tools.
INSERT INTO hand_server (workspace_id, server, listed_at, failed_at, last_error) VALUES (:workspace, :server, :at, 0, '')
ON CONFLICT (workspace_id, server) DO UPDATE SET listed_at = excluded.listed_at, failed_at = 0, last_error = '';

-- name: server_failed
-- Note that a server has failed.
INSERT INTO hand_server (workspace_id, server, listed_at, failed_at, last_error)
VALUES (:workspace, :server, 0, :at, :error)
ON CONFLICT (workspace_id, server) DO UPDATE SET failed_at = excluded.failed_at, last_error = excluded.last_error;

-- name: action_add
-- Store what the agent wants to do, before anybody is asked and before it is done.
INSERT INTO action (workspace_id, id, kind, server, tool, input, question, state, is_asked, call_key, channel, address,
    asked_at, expires_at, decided_at, decided_by, began_at, ended_at, result)
VALUES (:workspace, :id, :kind, :server, :tool, :input, :question, :state, :is_asked, :key, :channel, :address,
    :at, :expires_at, NULL, '', :began_at, NULL, '');

-- name: action_get
-- Read one action.
SELECT id, kind, server, tool, input, question, state, is_asked, channel, address, asked_at, expires_at, decided_at,
    decided_by, began_at, ended_at, result
FROM action WHERE workspace_id = :workspace AND id = :id;

-- name: action_by_key
-- Find the action of a call.
SELECT id, kind, server, tool, input, question, state, is_asked, channel, address, asked_at, expires_at, decided_at,
    decided_by, began_at, ended_at, result
FROM action WHERE workspace_id = :workspace AND call_key = :key;

-- name: action_in
-- List the actions in some states, oldest first.
SELECT id, kind, server, tool, input, question, state, is_asked, channel, address, asked_at, expires_at, decided_at,
    decided_by, began_at, ended_at, result
FROM action WHERE workspace_id = :workspace AND state IN (:*states) ORDER BY id;

-- name: action_recent
-- List actions, newest first.
SELECT id, kind, server, tool, input, question, state, is_asked, channel, address, asked_at, expires_at, decided_at,
    decided_by, began_at, ended_at, result
FROM action WHERE workspace_id = :workspace AND id < :before ORDER BY id DESC LIMIT :limit;

-- name: action_decide
-- Record what the person decided about an action; nothing changes unless it is in one of these states.
UPDATE action SET state = :state, decided_at = :at, decided_by = :by, began_at = NULL, ended_at = NULL
WHERE workspace_id = :workspace AND id = :id AND state IN (:*states);

-- name: action_begin
-- Record that an approved action begins.
UPDATE action SET state = 'running', began_at = :at WHERE workspace_id = :workspace AND id = :id AND state = 'approved';

-- name: action_end
-- Record how an action that was running ended.
UPDATE action SET state = :state, ended_at = :at, result = :result
WHERE workspace_id = :workspace AND id = :id AND state = 'running';

-- name: action_expire
-- Let an action lapse that nobody has decided about.
UPDATE action SET state = 'expired', ended_at = :at WHERE workspace_id = :workspace AND id = :id AND state = 'waiting';

-- name: action_blank
-- Take forgotten words out of an action.
UPDATE action SET input = :input, question = :question, result = :result WHERE workspace_id = :workspace AND id = :id;

-- name: place_last
-- Find where the person last wrote, under their name or without one.
SELECT channel, address FROM message
WHERE workspace_id = :workspace AND direction = 'in' AND kind = 'message' AND sender IN ('', :person) AND state NOT IN ('refused', 'withdrawn')
ORDER BY id DESC LIMIT 1;
