-- Models, perspectives and vectors.

-- name: model_get (global)
-- Find an embedding model by name and dimension.
SELECT id FROM model WHERE name = :name AND dim = :dim;

-- name: model_all (global)
-- List all embedding models that ever made vectors.
SELECT id, name, dim FROM model ORDER BY id;

-- name: model_add (global)
-- Register an embedding model, unless another workspace has just done so, or has given the number to another model.
INSERT INTO model (id, name, dim) VALUES (:id, :name, :dim) ON CONFLICT DO NOTHING;

-- name: calibrated (global)
-- Read what a calibration measured about an embedding model.
SELECT detail FROM calibration WHERE model = :model;

-- name: perspective_add
-- Add a perspective.
INSERT INTO perspective (workspace_id, id, name, instruction) VALUES (:workspace, :id, :name, :instruction);

-- name: perspective_all
-- List the perspectives.
SELECT id, name, instruction FROM perspective WHERE workspace_id = :workspace ORDER BY id;

-- name: put
-- Store the vector of a document, replacing an older one.
INSERT INTO embedding (workspace_id, model_id, perspective_id, item_id, vector, live, revision)
VALUES (:workspace, :model, :perspective, :item, :vector, :live, :revision)
ON CONFLICT (workspace_id, item_id, model_id, perspective_id)
DO UPDATE SET vector = excluded.vector, live = excluded.live, revision = excluded.revision;

-- name: latest
-- Read the newest revisions of vectors that were written and that were deleted, to see whether anything has changed.
SELECT (SELECT MAX(revision) FROM embedding WHERE workspace_id = :workspace AND model_id = :model) AS revision,
    (SELECT MAX(revision) FROM vector_gone WHERE workspace_id = :workspace) AS gone;

-- name: gone_add
-- Note that the vectors of a document were deleted.
INSERT INTO vector_gone (workspace_id, revision, item_id) VALUES (:workspace, :revision, :item);

-- name: gone_since
-- List the documents whose vectors were deleted since a revision.
SELECT item_id FROM vector_gone WHERE workspace_id = :workspace AND revision > :after ORDER BY revision;

-- name: every
-- Read all vectors, in the order in which their rows lie.
-- With the sign before it, the model is only compared: SQLite would look up every row in the index by revision, and sort.
SELECT item_id, live, vector, revision FROM embedding
WHERE workspace_id = :workspace AND +model_id = :model AND perspective_id = :perspective ORDER BY item_id;

-- name: changed
-- Read vectors that were written since a revision, a page at a time.
SELECT item_id, live, vector, revision FROM embedding
WHERE workspace_id = :workspace AND model_id = :model AND perspective_id = :perspective AND revision > :after
ORDER BY revision LIMIT :limit;

-- name: changes
-- Count the vectors that were written since a revision.
SELECT COUNT(*) AS count FROM embedding
WHERE workspace_id = :workspace AND model_id = :model AND perspective_id = :perspective AND revision > :after;

-- name: of_items
-- Read the vectors of some documents.
SELECT item_id, vector FROM embedding
WHERE workspace_id = :workspace AND model_id = :model AND perspective_id = :perspective AND item_id IN (:*ids);

-- name: keys_of_items
-- List the models and perspectives in which documents have vectors.
SELECT model_id, perspective_id, item_id FROM embedding WHERE workspace_id = :workspace AND item_id IN (:*ids);

-- name: retire
-- Hide the vectors of documents from all searches except those about the past.
UPDATE embedding SET live = 0, revision = :revision
WHERE workspace_id = :workspace AND model_id = :model AND perspective_id = :perspective AND item_id = :item;

-- name: blank
-- Discard the vectors of documents whose text changed.
UPDATE embedding SET vector = zeroblob(length(vector)), checksum = NULL, live = 0, revision = :revision
WHERE workspace_id = :workspace AND model_id = :model AND perspective_id = :perspective AND item_id = :item;

-- name: drop
-- Delete the vectors of documents.
DELETE FROM embedding WHERE workspace_id = :workspace AND item_id IN (:*ids);

-- name: due
-- List documents that have yet to be embedded.
-- Newest first, because people ask for what they wrote last.
SELECT item_id, title, text, context, CASE WHEN retired_at IS NULL THEN 1 ELSE 0 END AS live FROM document
WHERE workspace_id = :workspace AND embedded_by = :embedded_by ORDER BY item_id DESC LIMIT :limit;

-- name: embedded_count
-- Count the documents that one model has embedded, or that none has (0).
SELECT COUNT(*) AS count FROM document WHERE workspace_id = :workspace AND embedded_by = :embedded_by;

-- name: embedded_counts
-- Count the documents by the model that embedded them.
SELECT embedded_by, COUNT(*) AS count FROM document WHERE workspace_id = :workspace GROUP BY embedded_by;

-- name: embedded
-- Record which model embedded documents.
UPDATE document SET embedded_by = :model WHERE workspace_id = :workspace AND item_id IN (:*ids);

-- name: forget
-- Mark every document as not embedded.
UPDATE document SET embedded_by = 0 WHERE workspace_id = :workspace;

-- name: counts
-- Count the vectors of each model and perspective.
SELECT e.model_id, e.perspective_id, m.dim, COUNT(*) AS count FROM embedding AS e JOIN model AS m ON m.id = e.model_id
WHERE e.workspace_id = :workspace GROUP BY e.model_id, e.perspective_id, m.dim ORDER BY e.model_id, e.perspective_id;
