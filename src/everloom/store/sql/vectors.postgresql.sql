-- Vectors on PostgreSQL: compared by the server, inside one workspace, model and perspective.

-- name: nearest
-- Rank the current vectors of a perspective by similarity, exactly.
SELECT e.item_id, -(e.vector <#> :probe::halfvec) AS similarity FROM embedding AS e
WHERE e.workspace_id = :workspace AND e.model_id = :model AND e.perspective_id = :perspective AND e.live = 1
ORDER BY e.vector <#> :probe::halfvec LIMIT :limit;

-- name: nearest_indexed
-- Rank the current vectors of a large perspective by similarity, along its approximate index.
-- {place}, {model}, {perspective} and {dim} are numbers written into the statement, because only then can PostgreSQL see
-- that the partial index serves it.
SELECT e.item_id, -(e.vector::halfvec({dim}) <#> :probe::halfvec({dim})) AS similarity FROM embedding AS e
WHERE e.workspace_id = :workspace AND e.workspace_id = {place} AND e.model_id = {model}
    AND e.perspective_id = {perspective} AND e.live = 1
ORDER BY e.vector::halfvec({dim}) <#> :probe::halfvec({dim}) LIMIT :limit;

-- name: indexes (global)
-- List the approximate indexes that are complete.
SELECT c.relname::text AS name FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
WHERE i.indrelid = to_regclass('embedding') AND i.indisvalid AND starts_with(c.relname::text, 'embedding_near_');

-- name: indexes_all (global)
-- List all approximate indexes, also those that were never finished, and whether each is complete and without a vector.
SELECT c.relname::text AS name, i.indisvalid AND c.reltuples = 0 AS is_empty
FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
WHERE i.indrelid = to_regclass('embedding') AND starts_with(c.relname::text, 'embedding_near_');

-- name: nearest_within
-- Rank vectors by similarity, limited to some kinds, times and a moment of knowledge.
SELECT e.item_id, -(e.vector <#> :probe::halfvec) AS similarity FROM embedding AS e
JOIN document AS d ON d.workspace_id = :workspace AND d.item_id = e.item_id
WHERE e.workspace_id = :workspace AND e.model_id = :model AND e.perspective_id = :perspective
    AND (:every_kind = 1 OR d.kind IN (:*kinds))
    AND d.happened_at BETWEEN :happened_from AND :happened_until
    AND d.created_at <= :as_of AND (d.retired_at IS NULL OR d.retired_at > :as_of)
ORDER BY e.vector <#> :probe::halfvec LIMIT :limit;

-- name: of_items
-- Read the vectors of some documents.
-- Here and below, "+ 0" keeps the planner from scanning all vectors of the perspective, which it assumes to be few
-- until the table has been analysed.
SELECT item_id, vector FROM embedding
WHERE workspace_id = :workspace AND model_id + 0 = :model AND perspective_id + 0 = :perspective AND item_id IN (:*ids);

-- name: similarities
-- Compare a probe exactly with some documents.
SELECT e.item_id, -(e.vector <#> :probe::halfvec) AS similarity FROM embedding AS e
WHERE e.workspace_id = :workspace AND e.model_id + 0 = :model AND e.perspective_id + 0 = :perspective
    AND e.item_id IN (:*ids);

-- name: similarities_both
-- Compare two probes exactly with some documents.
SELECT e.item_id, -(e.vector <#> :probe::halfvec) AS similarity, -(e.vector <#> :other_probe::halfvec) AS other_similarity
FROM embedding AS e
WHERE e.workspace_id = :workspace AND e.model_id + 0 = :model AND e.perspective_id + 0 = :perspective
    AND e.item_id IN (:*ids);

-- name: retire
-- Hide the vectors of documents from all searches except those about the past.
UPDATE embedding SET live = 0, revision = :revision WHERE workspace_id = :workspace AND item_id IN (:*ids);

-- name: blank
-- Discard the vectors of documents whose text changed.
DELETE FROM embedding WHERE workspace_id = :workspace AND item_id IN (:*ids);
