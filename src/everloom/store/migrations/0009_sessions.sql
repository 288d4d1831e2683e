-- A text is read with its neighbours in the session when a question is asked; this finds them.
CREATE INDEX document_by_session ON document (workspace_id, session_id, item_id);
