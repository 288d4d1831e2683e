-- Documents up to this id have words by older rules, and are waiting to be indexed again. Whoever changes the rules adds a
-- migration with the same update.
ALTER TABLE workspace ADD COLUMN reword_through BIGINT NOT NULL DEFAULT 0;
UPDATE workspace SET reword_through = COALESCE(
    (SELECT MAX(item_id) FROM document WHERE document.workspace_id = workspace.id), 0);
