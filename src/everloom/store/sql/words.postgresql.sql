-- The word index of PostgreSQL: postings, many of them packed into one value (store/postings.py). Candidates are ranked by
-- the weights that the caller gives the terms; exact scores are computed from the documents afterwards.

-- name: index_add
-- Add documents to the counts and the newest postings of words; a row that has become full is given back.
-- The new postings come first: what stood there then ends the row before and after, and the log repeats neither end.
-- Here and in parts_put, the workspace is read from its tally, which is written before: only so does Citus send such a
-- statement to the one shard. A list that is selected alone it would copy there, which row-level security forbids.
INSERT INTO term (workspace_id, term, documents, postings)
SELECT t.workspace_id, asked.* FROM tally AS t
CROSS JOIN unnest(:terms::text[], :counts::bigint[], :postings::bytea[]) AS asked (term, documents, postings)
WHERE t.workspace_id = :workspace
ON CONFLICT (workspace_id, term) DO UPDATE SET documents = term.documents + excluded.documents,
    postings = excluded.postings || term.postings
RETURNING CASE WHEN octet_length(postings) > :most THEN term END AS term, through,
    CASE WHEN octet_length(postings) > :most THEN postings END AS postings;

-- name: index_drop
-- Remove documents from the counts and the newest postings of words.
UPDATE term SET documents = term.documents - asked.documents, postings = asked.postings
FROM unnest(:terms::text[], :counts::bigint[], :postings::bytea[]) AS asked (term, documents, postings)
WHERE term.workspace_id = :workspace AND term.term = asked.term;

-- name: index_settle
-- Leave only the newest postings of words in their rows, once the others are in parts.
UPDATE term SET through = asked.through, postings = asked.postings
FROM unnest(:terms::text[], :throughs::bigint[], :postings::bytea[]) AS asked (term, through, postings)
WHERE term.workspace_id = :workspace AND term.term = asked.term;

-- name: heads_of
-- Read the newest postings of words, and up to which document the others are in parts.
SELECT term, through, postings FROM term WHERE workspace_id = :workspace AND term IN (:*terms);

-- name: parts_of
-- Read the parts that own some documents' postings.
SELECT p.term, p.low, p.postings FROM unnest(:terms::text[], :items::bigint[]) AS asked (term, item)
CROSS JOIN LATERAL (SELECT o.term, o.low, o.postings FROM posting AS o
    WHERE o.workspace_id = :workspace AND o.term = asked.term AND o.low <= asked.item ORDER BY o.low DESC LIMIT 1) AS p;

-- name: parts_put
-- Write parts of words' postings.
INSERT INTO posting (workspace_id, term, low, postings)
SELECT t.workspace_id, asked.* FROM tally AS t
CROSS JOIN unnest(:terms::text[], :lows::bigint[], :postings::bytea[]) AS asked (term, low, postings)
WHERE t.workspace_id = :workspace
ON CONFLICT (workspace_id, term, low) DO UPDATE SET postings = excluded.postings;

-- name: parts_drop
-- Delete parts that hold nothing any more.
DELETE FROM posting USING unnest(:terms::text[], :lows::bigint[]) AS asked (term, low)
WHERE posting.workspace_id = :workspace AND posting.term = asked.term AND posting.low = asked.low;

-- name: beside
-- Find the two documents before and after each of some in its session; a text of more than so many spaces needs none.
-- "OFFSET 0" keeps the planner from looking for each of two neighbours by itself.
SELECT d.item_id, d.before[1] AS before_1, d.before[2] AS before_2, d.after[1] AS after_1, d.after[2] AS after_2 FROM (
    SELECT d.item_id,
        ARRAY(SELECT b.item_id FROM document AS b
            WHERE b.workspace_id = :workspace AND b.session_id = d.session_id AND b.kind = d.kind
                AND b.item_id < d.item_id AND b.created_at <= :as_of AND (b.retired_at IS NULL OR b.retired_at > :as_of)
            ORDER BY b.item_id DESC LIMIT 2) AS before,
        ARRAY(SELECT b.item_id FROM document AS b
            WHERE b.workspace_id = :workspace AND b.session_id = d.session_id AND b.kind = d.kind
                AND b.item_id > d.item_id AND b.created_at <= :as_of AND (b.retired_at IS NULL OR b.retired_at > :as_of)
            ORDER BY b.item_id ASC LIMIT 2) AS after
    FROM document AS d WHERE d.workspace_id = :workspace AND d.item_id IN (:*ids) AND d.session_id IS NOT NULL
        AND length(d.words) - length(replace(d.words, ' ', '')) < :spaces
    OFFSET 0) AS d;

-- name: document_sample
-- Find the first document from each of some points on: a sample of the memory, if the points are spread over it.
SELECT DISTINCT (SELECT d.item_id FROM document AS d
    WHERE d.workspace_id = :workspace AND d.item_id >= p.value AND d.retired_at IS NULL ORDER BY d.item_id LIMIT 1) AS item_id
FROM unnest(:points::bigint[]) AS p (value);

-- name: term_of
-- Read in how many documents words occur, and the postings of those that occur in few.
SELECT t.term, t.documents, CASE WHEN t.documents <= :few THEN t.postings || COALESCE(
    (SELECT string_agg(p.postings, ''::bytea) FROM posting AS p WHERE p.workspace_id = :workspace AND p.term = t.term),
    ''::bytea) END AS postings
FROM term AS t WHERE t.workspace_id = :workspace AND t.term IN (:*terms) AND t.documents > 0;

-- name: find
-- Read the postings of words.
SELECT term, postings FROM term WHERE workspace_id = :workspace AND term IN (:*terms)
UNION ALL
SELECT term, postings FROM posting WHERE workspace_id = :workspace AND term IN (:*terms);

-- name: fold (global)
-- Do nothing: autovacuum maintains the postings.
SELECT 1;
