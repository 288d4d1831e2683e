-- Statements that PostgreSQL needs in its own dialect.

-- name: counter_take (global)
-- Take fresh numbers from a counter.
SELECT nextval((:counter || '_counter')::regclass) AS id FROM generate_series(1, :count);

-- name: counter_advance (global)
-- Make sure that a counter continues above a given number.
SELECT setval((:counter || '_counter')::regclass, GREATEST(:last, nextval((:counter || '_counter')::regclass)));

-- name: counter_read (global)
-- Read the last number of a counter.
SELECT nextval((:counter || '_counter')::regclass) AS last;
