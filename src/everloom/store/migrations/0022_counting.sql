-- only: sqlite
-- A write would change a page of `term` for almost every word of a text. The words of the newest documents, those after
-- `counted_through`, are counted from their rows instead, and added to `term` many documents at a time.
ALTER TABLE tally ADD COLUMN counted_through BIGINT NOT NULL DEFAULT 0;
ALTER TABLE tally ADD COLUMN counted BIGINT NOT NULL DEFAULT 0;
UPDATE tally SET counted = documents, counted_through = COALESCE(
    (SELECT MAX(item_id) FROM document WHERE document.workspace_id = tally.workspace_id), 0);
-- end
