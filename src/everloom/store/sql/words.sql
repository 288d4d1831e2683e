-- The searchable documents and their word index.

-- name: of_documents
-- Read the words of documents in the form that is indexed.
SELECT item_id, words, context_words, CASE WHEN retired_at IS NULL THEN 1 ELSE 0 END AS live
FROM document WHERE workspace_id = :workspace AND item_id IN (:*ids);

-- name: index_add (marked)
-- Add documents to the word index.
INSERT INTO words (rowid, text, context) VALUES (:id, :text, :context);

-- name: index_drop (marked)
-- Remove documents from the word index.
INSERT INTO words (words, rowid, text, context) VALUES ('delete', :id, :text, :context);

-- name: fold (marked)
-- Merge segments of the index, so that searches read fewer of them.
-- The amount is bounded, so that writers do not wait long.
INSERT INTO words (words, rank) VALUES ('merge', 500);

-- name: find (marked)
-- Find current documents that contain any of the words, best first.
-- The workspace is part of every word of the query, so no other filter is needed.
SELECT rowid - :base AS id, bm25(words, 1.0, 0.5) AS score FROM words WHERE words MATCH :query ORDER BY score LIMIT :limit;

-- name: within
-- Select those documents that are within a search's reach.
SELECT d.item_id AS id FROM document AS d
WHERE d.workspace_id = :workspace AND d.item_id IN (:*ids)
    AND (:every_kind = 1 OR d.kind IN (:*kinds))
    AND d.happened_at BETWEEN :happened_from AND :happened_until
    AND d.created_at <= :as_of AND (d.retired_at IS NULL OR d.retired_at > :as_of);

-- name: of_kinds
-- List some documents of some kinds and of a time, present or not; few are few at any size of the workspace.
SELECT d.item_id AS id FROM document AS d
WHERE d.workspace_id = :workspace AND d.kind IN (:*kinds) AND d.happened_at BETWEEN :happened_from AND :happened_until
LIMIT :limit;

-- name: document_add
-- Add a searchable document.
INSERT INTO document (workspace_id, item_id, kind, title, text, context, details, labels, standing, confidence, model_tier,
    session_id, happened_at, created_at, words, context_words, embedded_by, origin, trust)
VALUES (:workspace, :id, :kind, :title, :text, :context, :details, :labels, :standing, :confidence, :model_tier,
    :session, :happened_at, :at, :words, :context_words, :embedded_by, :origin, :trust);

-- name: document_change
-- Rewrite a document in place.
UPDATE document SET title = :title, text = :text, context = :context, details = :details, labels = :labels, standing = :standing,
    confidence = :confidence, model_tier = :model_tier, happened_at = :happened_at, words = :words,
    context_words = :context_words, embedded_by = :embedded_by, origin = :origin, trust = :trust
WHERE workspace_id = :workspace AND item_id = :id;

-- name: document_relabel
-- Change the labels of a document, and with them the words of its lighter field.
UPDATE document SET labels = :labels, context_words = :context_words WHERE workspace_id = :workspace AND item_id = :id;

-- name: document_redate
-- Change the time of a document. Its checksum covers its texts and its time, so all of them are bound.
UPDATE document SET title = :title, text = :text, context = :context, details = :details, happened_at = :happened_at
WHERE workspace_id = :workspace AND item_id = :id;

-- name: document_reword
-- Replace the words of a document by those of the present rules.
UPDATE document SET words = :words, context_words = :context_words WHERE workspace_id = :workspace AND item_id = :id;

-- name: reword_count
-- Count the documents whose words were made by older rules.
SELECT COUNT(*) AS count FROM document WHERE workspace_id = :workspace
    AND item_id <= (SELECT reword_through FROM workspace WHERE id = :workspace);

-- name: reword_next
-- List documents whose words were made by older rules, newest first.
SELECT item_id FROM document WHERE workspace_id = :workspace
    AND item_id <= (SELECT reword_through FROM workspace WHERE id = :workspace)
ORDER BY item_id DESC LIMIT :limit;

-- name: reword_done
-- Record that documents above this id have words by the present rules.
UPDATE workspace SET reword_through = :through WHERE id = :workspace;

-- name: document_revive
-- Make retired documents current again.
UPDATE document SET retired_at = NULL, retired_by = NULL WHERE workspace_id = :workspace AND item_id IN (:*ids);

-- name: document_retire
-- Retire documents; searches as of an earlier time still find them.
UPDATE document SET retired_at = :at, retired_by = :by
WHERE workspace_id = :workspace AND item_id IN (:*ids) AND retired_at IS NULL;

-- name: document_drop
-- Delete documents.
DELETE FROM document WHERE workspace_id = :workspace AND item_id IN (:*ids);

-- name: document_of
-- Read complete documents.
SELECT item_id, kind, title, text, context, details, labels, standing, confidence, model_tier, session_id, happened_at, created_at,
    retired_at, retired_by, words, context_words, embedded_by, origin, trust
FROM document WHERE workspace_id = :workspace AND item_id IN (:*ids);

-- name: preview_of
-- Read the beginnings of documents, for lists: most of a long text is not read at all.
SELECT item_id, kind, substr(title, 1, 400) AS title, substr(text, 1, 400) AS text, retired_at
FROM document WHERE workspace_id = :workspace AND item_id IN (:*ids);

-- name: scored_of
-- Read only what scoring needs: most candidates are never shown.
SELECT item_id, kind, words, context_words, labels, substr(text, 1, 40) AS opening,
    standing, confidence, model_tier, session_id, happened_at, created_at
FROM document WHERE workspace_id = :workspace AND item_id IN (:*ids);

-- name: beside
-- Find the two documents before and after each of some in its session; a text of more than so many spaces needs none.
SELECT d.item_id,
    (SELECT b.item_id FROM document AS b WHERE b.workspace_id = :workspace AND b.session_id = d.session_id AND b.kind = d.kind
        AND b.item_id < d.item_id AND b.created_at <= :as_of AND (b.retired_at IS NULL OR b.retired_at > :as_of)
        ORDER BY b.item_id DESC LIMIT 1) AS before_1,
    (SELECT b.item_id FROM document AS b WHERE b.workspace_id = :workspace AND b.session_id = d.session_id AND b.kind = d.kind
        AND b.item_id < d.item_id AND b.created_at <= :as_of AND (b.retired_at IS NULL OR b.retired_at > :as_of)
        ORDER BY b.item_id DESC LIMIT 1 OFFSET 1) AS before_2,
    (SELECT b.item_id FROM document AS b WHERE b.workspace_id = :workspace AND b.session_id = d.session_id AND b.kind = d.kind
        AND b.item_id > d.item_id AND b.created_at <= :as_of AND (b.retired_at IS NULL OR b.retired_at > :as_of)
        ORDER BY b.item_id ASC LIMIT 1) AS after_1,
    (SELECT b.item_id FROM document AS b WHERE b.workspace_id = :workspace AND b.session_id = d.session_id AND b.kind = d.kind
        AND b.item_id > d.item_id AND b.created_at <= :as_of AND (b.retired_at IS NULL OR b.retired_at > :as_of)
        ORDER BY b.item_id ASC LIMIT 1 OFFSET 1) AS after_2
FROM document AS d WHERE d.workspace_id = :workspace AND d.item_id IN (:*ids) AND d.session_id IS NOT NULL
    AND length(d.words) - length(replace(d.words, ' ', '')) < :spaces;

-- name: asking
-- Find those of some documents that hold a question, each with the sign that it ends with.
SELECT item_id, substr(rtrim(text), length(rtrim(text)), 1) AS ending FROM document
WHERE workspace_id = :workspace AND item_id IN (:*ids) AND (text LIKE '%?%' OR text LIKE '%？%' OR text LIKE '%؟%');

-- name: document_ends
-- Find the lowest and the highest id of a document.
SELECT MIN(item_id) AS lowest, MAX(item_id) AS highest FROM document WHERE workspace_id = :workspace;

-- name: document_sample
-- Find the first document from each of some points on: a sample of the memory, if the points are spread over it.
SELECT DISTINCT (SELECT d.item_id FROM document AS d
    WHERE d.workspace_id = :workspace AND d.item_id >= p.value AND d.retired_at IS NULL ORDER BY d.item_id LIMIT 1) AS item_id
FROM json_each(:points) AS p;

-- name: document_ids
-- Page through all documents in the order of their ids.
SELECT item_id FROM document WHERE workspace_id = :workspace AND item_id > :after ORDER BY item_id LIMIT :limit;

-- name: cover_add
-- Record that a document is covered by another, which says the same and more.
INSERT INTO cover (workspace_id, item_id, cover_id) VALUES (:workspace, :item, :cover) ON CONFLICT DO NOTHING;

-- name: cover_of
-- List the documents that cover others, as of a moment.
SELECT c.item_id, c.cover_id FROM cover AS c
JOIN document AS d ON d.workspace_id = c.workspace_id AND d.item_id = c.cover_id
WHERE c.workspace_id = :workspace AND c.item_id IN (:*ids)
    AND d.created_at <= :as_of AND (d.retired_at IS NULL OR d.retired_at > :as_of);

-- name: cover_lift
-- Let documents stand for themselves again, whatever covered them.
DELETE FROM cover WHERE workspace_id = :workspace AND item_id IN (:*ids);

-- name: cover_drop
-- Delete the covers of deleted documents, in both directions.
DELETE FROM cover WHERE workspace_id = :workspace AND (item_id IN (:*ids) OR cover_id IN (:*ids));

-- name: term_count
-- Change the number of documents in which words occur.
INSERT INTO term (workspace_id, term, documents) VALUES (:workspace, :term, :count)
ON CONFLICT (workspace_id, term) DO UPDATE SET documents = term.documents + excluded.documents;

-- name: term_of
-- Read in how many documents words occur.
SELECT term, documents FROM term WHERE workspace_id = :workspace AND term IN (:*terms) AND documents > 0;

-- name: tally_count
-- Change the number of documents and their total length.
INSERT INTO tally (workspace_id, documents, words, context_words) VALUES (:workspace, :documents, :words, :context_words)
ON CONFLICT (workspace_id) DO UPDATE SET documents = tally.documents + excluded.documents,
    words = tally.words + excluded.words, context_words = tally.context_words + excluded.context_words;

-- name: tally_get
-- Read the number of documents and their total length.
SELECT documents, words, context_words FROM tally WHERE workspace_id = :workspace;
