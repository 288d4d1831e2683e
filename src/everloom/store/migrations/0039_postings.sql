-- The word index of PostgreSQL had a row for each word of each document, which took half of a store. Now the row of a
-- word lists its newest documents, and parts list the others, 64 each; the first part begins at 0. Both are made again
-- from the documents, as store/postings.py makes them.
-- only: postgresql
DROP TABLE posting;
CREATE TABLE posting (
    workspace_id BIGINT NOT NULL REFERENCES workspace (id),
    term TEXT NOT NULL,
    low BIGINT NOT NULL,
    postings BYTEA NOT NULL,
    PRIMARY KEY (workspace_id, term, low)
);
ALTER TABLE term ADD COLUMN through BIGINT NOT NULL DEFAULT 0;
ALTER TABLE term ADD COLUMN postings BYTEA NOT NULL DEFAULT '';
ALTER TABLE term SET (fillfactor = 80);
CREATE TABLE posting_counted AS
SELECT d.workspace_id, w.term, d.item_id, CASE WHEN d.retired_at IS NULL THEN 1 ELSE 0 END AS live,
    SUM(w.in_text)::float8 AS in_text, SUM(w.in_context)::float8 AS in_context
FROM document AS d CROSS JOIN LATERAL (
    SELECT unnest(string_to_array(d.words, ' ')) AS term, 1 AS in_text, 0 AS in_context
    UNION ALL SELECT unnest(string_to_array(d.context_words, ' ')), 0, 1) AS w
WHERE w.term <> '' GROUP BY d.workspace_id, w.term, d.item_id, d.retired_at;
CREATE TABLE posting_placed AS
SELECT workspace_id, term, item_id, item_id * 256 + live + 2 * round(84::float8
        * (in_text / (in_text + 1.2::float8) + 0.5::float8 * in_context / (in_context + 1.2::float8)))::bigint AS posting,
    row_number() OVER (PARTITION BY workspace_id, term ORDER BY item_id) - 1 AS place,
    COUNT(*) OVER (PARTITION BY workspace_id, term) / 64 * 64 AS parted
FROM posting_counted;
INSERT INTO posting (workspace_id, term, low, postings)
SELECT workspace_id, term, CASE WHEN place / 64 = 0 THEN 0 ELSE MIN(item_id) END,
    string_agg(int8send(posting), '' ORDER BY place)
FROM posting_placed WHERE place < parted GROUP BY workspace_id, term, place / 64;
TRUNCATE term;
INSERT INTO term (workspace_id, term, documents, through, postings)
SELECT workspace_id, term, COUNT(*), COALESCE(MAX(item_id) FILTER (WHERE place < parted), 0),
    COALESCE(string_agg(int8send(posting), '' ORDER BY place DESC) FILTER (WHERE place >= parted), '')
FROM posting_placed GROUP BY workspace_id, term ORDER BY workspace_id, term;
DROP TABLE posting_counted;
DROP TABLE posting_placed;
-- end
