-- The word index of PostgreSQL: a table of postings, scored by BM25 over text and, at half weight, context.

-- name: index_add
INSERT INTO posting (workspace_id, term, item_id, live, text_count, context_count, text_length, context_length)
SELECT :workspace, * FROM unnest(:terms::text[], :items::bigint[], :lives::bigint[], :texts::bigint[],
    :contexts::bigint[], :text_lengths::bigint[], :context_lengths::bigint[]);

-- name: index_drop
DELETE FROM posting WHERE workspace_id = :workspace AND item_id IN (:*ids);

-- name: term_count
INSERT INTO term (workspace_id, term, documents)
SELECT :workspace, * FROM unnest(:terms::text[], :counts::bigint[])
ON CONFLICT (workspace_id, term) DO UPDATE SET documents = term.documents + excluded.documents;

-- name: find
WITH known AS (
    SELECT t.term, ln(1 + (y.documents - t.documents + 0.5) / (t.documents + 0.5)) AS weight,
        greatest(y.words, 1)::float8 / greatest(y.documents, 1) AS text_mean,
        greatest(y.context_words, 1)::float8 / greatest(y.documents, 1) AS context_mean
    FROM term AS t JOIN tally AS y USING (workspace_id)
    WHERE t.workspace_id = :workspace AND t.term IN (:*terms)
)
SELECT p.item_id AS id FROM posting AS p JOIN known AS k USING (term)
WHERE p.workspace_id = :workspace AND p.term IN (:*terms) AND p.live = 1
GROUP BY p.item_id
ORDER BY SUM(k.weight * (
    2.2 * p.text_count / (p.text_count + 1.2 * (0.25 + 0.75 * p.text_length / k.text_mean))
    + 1.1 * p.context_count / (p.context_count + 1.2 * (0.25 + 0.75 * p.context_length / k.context_mean)))) DESC, p.item_id
LIMIT :limit;

-- name: find_within
WITH known AS (
    SELECT t.term, ln(1 + (y.documents - t.documents + 0.5) / (t.documents + 0.5)) AS weight,
        greatest(y.words, 1)::float8 / greatest(y.documents, 1) AS text_mean,
        greatest(y.context_words, 1)::float8 / greatest(y.documents, 1) AS context_mean
    FROM term AS t JOIN tally AS y USING (workspace_id)
    WHERE t.workspace_id = :workspace AND t.term IN (:*terms)
)
SELECT p.item_id AS id FROM posting AS p JOIN known AS k USING (term)
JOIN document AS d ON d.workspace_id = :workspace AND d.item_id = p.item_id
WHERE p.workspace_id = :workspace AND p.term IN (:*terms)
    AND (:every_kind = 1 OR d.kind IN (:*kinds))
    AND d.happened_at BETWEEN :happened_from AND :happened_until
    AND d.created_at <= :as_of AND (d.retired_at IS NULL OR d.retired_at > :as_of)
GROUP BY p.item_id
ORDER BY SUM(k.weight * (
    2.2 * p.text_count / (p.text_count + 1.2 * (0.25 + 0.75 * p.text_length / k.text_mean))
    + 1.1 * p.context_count / (p.context_count + 1.2 * (0.25 + 0.75 * p.context_length / k.context_mean)))) DESC, p.item_id
LIMIT :limit;
