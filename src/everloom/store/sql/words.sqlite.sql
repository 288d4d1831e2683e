-- name: tally_count
-- Change the number of documents and their total length, and tell whose words are in the counts of words already.
INSERT INTO tally (workspace_id, documents, words, context_words) VALUES (:workspace, :documents, :words, :context_words)
ON CONFLICT (workspace_id) DO UPDATE SET documents = tally.documents + excluded.documents,
    words = tally.words + excluded.words, context_words = tally.context_words + excluded.context_words
RETURNING counted_through, documents - counted AS uncounted;

-- name: tally_recount
-- Change the number of documents whose words are counted.
UPDATE tally SET counted = counted + :documents WHERE workspace_id = :workspace;

-- name: tally_fold
-- Note that the words of all documents are counted.
UPDATE tally SET counted = documents, counted_through = :through WHERE workspace_id = :workspace;

-- name: uncounted
-- Read the words of the documents that are not in the counts of words yet.
SELECT d.item_id, d.words, d.context_words, 1 AS live FROM tally AS t
JOIN document AS d ON d.workspace_id = t.workspace_id AND d.item_id > t.counted_through
WHERE t.workspace_id = :workspace;
