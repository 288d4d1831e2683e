-- The word index of PostgreSQL: a table of postings. Candidates are ranked by the weights that the caller gives the
-- terms; exact scores are computed from the documents afterwards.

-- name: index_add
-- Add documents to the word index.
INSERT INTO posting (workspace_id, term, item_id, live, impact)
SELECT :workspace, * FROM unnest(:terms::text[], :items::bigint[], :lives::bigint[], :impacts::float8[]);

-- name: index_drop
-- Remove documents from the word index.
DELETE FROM posting WHERE workspace_id = :workspace AND item_id IN (:*ids);

-- name: term_count
-- Change the number of documents in which words occur.
INSERT INTO term (workspace_id, term, documents)
SELECT :workspace, * FROM unnest(:terms::text[], :counts::bigint[])
ON CONFLICT (workspace_id, term) DO UPDATE SET documents = term.documents + excluded.documents;

-- name: document_sample
-- Find the first document from each of some points on: a sample of the memory, if the points are spread over it.
SELECT DISTINCT (SELECT d.item_id FROM document AS d
    WHERE d.workspace_id = :workspace AND d.item_id >= p.value AND d.retired_at IS NULL ORDER BY d.item_id LIMIT 1) AS item_id
FROM unnest(:points::bigint[]) AS p (value);

-- name: find
-- Find current documents that contain any of the words, best first.
SELECT p.item_id AS id FROM unnest(:terms::text[], :weights::float8[]) AS asked (term, weight)
JOIN posting AS p ON p.workspace_id = :workspace AND p.term = asked.term
WHERE p.live = 1
GROUP BY p.item_id ORDER BY SUM(asked.weight * p.impact) DESC, p.item_id LIMIT :limit;

-- name: find_within
-- Find documents by their words, limited to some kinds, times and a moment of knowledge.
SELECT p.item_id AS id FROM unnest(:terms::text[], :weights::float8[]) AS asked (term, weight)
JOIN posting AS p ON p.workspace_id = :workspace AND p.term = asked.term
JOIN document AS d ON d.workspace_id = :workspace AND d.item_id = p.item_id
WHERE (:every_kind = 1 OR d.kind IN (:*kinds))
    AND d.happened_at BETWEEN :happened_from AND :happened_until
    AND d.created_at <= :as_of AND (d.retired_at IS NULL OR d.retired_at > :as_of)
GROUP BY p.item_id ORDER BY SUM(asked.weight * p.impact) DESC, p.item_id LIMIT :limit;

-- name: fold (global)
-- Do nothing: autovacuum maintains the postings.
SELECT 1;
