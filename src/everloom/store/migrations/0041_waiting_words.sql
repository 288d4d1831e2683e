-- only: sqlite
-- The newest documents, those after `counted_through`, wait outside `words`, too, and `tally` counts none of them. Those
-- that `words` holds already, and `term` does not count yet, are counted here: texts are single words between spaces.
INSERT INTO term (workspace_id, term, documents)
SELECT d.workspace_id, w.value, COUNT(DISTINCT d.item_id) FROM tally AS t
JOIN document AS d ON d.workspace_id = t.workspace_id AND d.item_id > t.counted_through
JOIN json_each('[' || replace(json_quote(d.words || ' ' || d.context_words), ' ', '","') || ']') AS w
WHERE w.value <> '' GROUP BY d.workspace_id, w.value
ON CONFLICT (workspace_id, term) DO UPDATE SET documents = term.documents + excluded.documents;
UPDATE tally SET counted_through = COALESCE(
    (SELECT MAX(item_id) FROM document WHERE document.workspace_id = tally.workspace_id), 0);
ALTER TABLE tally DROP COLUMN counted;
-- end
