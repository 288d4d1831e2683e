-- step: replace
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

-- Every index costs a write a page. A document without a session needs none to be found by it.
DROP INDEX IF EXISTS document_by_session;
CREATE INDEX document_by_session ON document (workspace_id, session_id, item_id) WHERE session_id IS NOT NULL;
-- Rows of four numbers lie in their key, without a table beside it.
CREATE TABLE observation_subject_kept AS SELECT * FROM observation_subject;
DROP TABLE observation_subject;
CREATE TABLE observation_subject (
    workspace_id BIGINT NOT NULL,
    observation_id BIGINT NOT NULL,
    subject_id BIGINT NOT NULL,
    since_id BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, observation_id, subject_id),
    FOREIGN KEY (workspace_id, observation_id) REFERENCES observation (workspace_id, id),
    FOREIGN KEY (workspace_id, subject_id) REFERENCES subject (workspace_id, id)
); -- small
INSERT INTO observation_subject SELECT * FROM observation_subject_kept ORDER BY workspace_id, observation_id, subject_id;
DROP TABLE observation_subject_kept;
CREATE INDEX observation_subject_by_subject ON observation_subject (workspace_id, subject_id, since_id, observation_id);
-- end
