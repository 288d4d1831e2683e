-- only: postgresql
-- The write lock of a workspace: whoever has locked its row may write. Rows are locked and never changed, so that those who
-- wait stand in one line; behind a row that changes they would all look for the newest version of it.
CREATE TABLE write_lock (
    workspace_id BIGINT PRIMARY KEY
);
-- The last id and the last revision that were given in a workspace. Whoever holds its write lock reads them and gives more; the
-- row of workspace 0 gives ids to workspaces.
CREATE TABLE workspace_counter (
    workspace_id BIGINT PRIMARY KEY,
    item BIGINT NOT NULL,
    revision BIGINT NOT NULL
) WITH (fillfactor = 50);
-- Ids of workspaces that have no counter yet begin above this. It is at least as high as the ids of workspaces that were
-- removed: one of the same name must not give them again.
ALTER TABLE store_identity ADD COLUMN ids_above BIGINT NOT NULL DEFAULT 0;
INSERT INTO write_lock SELECT id FROM workspace;
INSERT INTO workspace_counter SELECT w.id, i.last_value, r.last_value FROM workspace AS w, item_counter AS i, revision_counter AS r;
UPDATE store_identity SET ids_above = (SELECT last_value FROM item_counter);
DROP SEQUENCE item_counter;
DROP SEQUENCE revision_counter;
-- end
