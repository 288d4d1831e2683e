-- Statements about bearer tokens. A token is looked up before a workspace is known, so all of them are global.

-- name: add (global)
-- Store a new token under its digest.
INSERT INTO token (digest, name, name_key, allowed_workspace, read_only, created_at, expires_at, revoked_at)
VALUES (:digest, :name, :name_key, :allowed, :read_only, :at, :expires_at, NULL);

-- name: by_digest (global)
-- Find a token by the digest of its secret, and its workspace, which whoever shows a token uses next.
SELECT t.digest, t.name, w.name AS workspace_name, t.read_only, t.created_at, t.expires_at, t.revoked_at, w.id,
w.description, w.time_zone, w.created_at AS workspace_created_at, w.state AS workspace_state
FROM token AS t JOIN workspace AS w ON w.id = t.allowed_workspace WHERE t.digest = :digest;

-- name: named (global)
-- Find the token of a name that is not revoked.
SELECT t.digest, t.name, w.name AS workspace_name, t.read_only, t.created_at, t.expires_at, t.revoked_at
FROM token AS t JOIN workspace AS w ON w.id = t.allowed_workspace
WHERE t.name_key = :name_key AND t.revoked_at IS NULL;

-- name: every (global)
-- List all tokens, including revoked and expired ones.
SELECT t.digest, t.name, w.name AS workspace_name, t.read_only, t.created_at, t.expires_at, t.revoked_at
FROM token AS t JOIN workspace AS w ON w.id = t.allowed_workspace ORDER BY t.created_at, t.name_key;

-- name: revoke (global)
-- Revoke a token.
UPDATE token SET revoked_at = :at WHERE digest = :digest;
