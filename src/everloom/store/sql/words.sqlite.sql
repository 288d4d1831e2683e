-- name: waiting
-- Read the words of documents that are not in the word index and its counts yet, oldest first.
SELECT d.item_id, d.words, d.context_words, d.kind, d.happened_at, d.created_at, d.retired_at,
    CASE WHEN d.retired_at IS NULL THEN 1 ELSE 0 END AS live
FROM document AS d
WHERE d.workspace_id = :workspace
    AND d.item_id > COALESCE((SELECT counted_through FROM tally WHERE workspace_id = :workspace), 0)
ORDER BY d.item_id LIMIT :limit;

-- name: tally_through
-- Read up to which id documents are in the word index and its counts, and how many wait, or that these are very many.
SELECT t.through, (SELECT COUNT(*) FROM (SELECT 1 FROM document AS d
    WHERE d.workspace_id = :workspace AND d.item_id > t.through LIMIT 1000)) AS waiting
FROM (SELECT COALESCE(MAX(counted_through), 0) AS through FROM tally WHERE workspace_id = :workspace) AS t;

-- name: tally_fold
-- Note up to which id documents are in the word index and its counts.
UPDATE tally SET counted_through = :through WHERE workspace_id = :workspace;

-- name: tally_get
-- Read the number of documents and their total length: of those that are counted, and of those that wait.
SELECT t.documents + COUNT(d.item_id) AS documents,
    t.words + COALESCE(SUM(length(d.words) - length(replace(d.words, ' ', '')) + (d.words <> '')), 0) AS words,
    t.context_words
    + COALESCE(SUM(length(d.context_words) - length(replace(d.context_words, ' ', '')) + (d.context_words <> '')), 0) AS context_words
FROM (SELECT COALESCE(MAX(documents), 0) AS documents, COALESCE(MAX(words), 0) AS words,
    COALESCE(MAX(context_words), 0) AS context_words,
    COALESCE(MAX(counted_through), 0) AS through FROM tally WHERE workspace_id = :workspace) AS t
LEFT JOIN document AS d ON d.workspace_id = :workspace AND d.item_id > t.through;

-- name: averages (global)
-- Read how many documents the word index holds and how long they are, in FTS5's own form.
SELECT block FROM words_data WHERE id = 1;

-- name: find_within
-- Find documents by their words, limited to some kinds, times and a moment of knowledge.
SELECT d.item_id AS id, bm25(w.words, 1.0, 0.5) AS score FROM words AS w
JOIN document AS d ON d.workspace_id = :workspace AND d.item_id = w.rowid - :base
WHERE w.words MATCH :query
    AND (:every_kind = 1 OR d.kind IN (:*kinds))
    AND d.happened_at BETWEEN :happened_from AND :happened_until
    AND d.created_at <= :as_of AND (d.retired_at IS NULL OR d.retired_at > :as_of)
ORDER BY score LIMIT :limit;
