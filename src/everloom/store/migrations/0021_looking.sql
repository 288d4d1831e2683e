-- What a person looks at page by page: subjects as they were last observed, by the beginning of a name, and what happened
-- when, kind by kind. A page then costs what it shows, however much a workspace holds.
DROP INDEX IF EXISTS subject_by_observed;
CREATE INDEX subject_by_observed ON subject (workspace_id, observed_through, id);
CREATE INDEX document_by_time ON document (workspace_id, kind, happened_at, item_id);
CREATE INDEX session_by_start ON session (workspace_id, started_at, id);
-- only: postgresql
-- In the order of characters, whatever the language of the database: only then do names with one beginning stand together.
CREATE INDEX subject_name_by_spelling ON subject_name (workspace_id, name_key COLLATE "C");
-- end
