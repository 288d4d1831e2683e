-- Statements that PostgreSQL needs in its own dialect.

-- name: bounds
-- Find when the first and the last thing of each kind happened.
SELECT k.kind,
    (SELECT MIN(d.happened_at) FROM document AS d WHERE d.workspace_id = :workspace AND d.kind = k.kind) AS first,
    (SELECT MAX(d.happened_at) FROM document AS d WHERE d.workspace_id = :workspace AND d.kind = k.kind) AS last
FROM jsonb_array_elements_text(CAST(:kinds AS jsonb)) AS k (kind);

-- name: counts
-- Count what happened in each of some spans, kind by kind; counting stops at so many.
-- The order changes no count; it leads a planner without statistics to the index.
SELECT k.kind, s.place - 1 AS place, (SELECT COUNT(*) FROM (
    SELECT 1 FROM document AS d WHERE d.workspace_id = :workspace AND d.kind = k.kind
        AND d.happened_at >= CAST(s.span ->> 0 AS bigint) AND d.happened_at < CAST(s.span ->> 1 AS bigint)
    ORDER BY d.kind, d.happened_at LIMIT :most) AS x) AS count
FROM jsonb_array_elements_text(CAST(:kinds AS jsonb)) AS k (kind)
CROSS JOIN jsonb_array_elements(CAST(:spans AS jsonb)) WITH ORDINALITY AS s (span, place);
