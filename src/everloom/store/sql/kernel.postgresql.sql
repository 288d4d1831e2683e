-- Statements that PostgreSQL needs in its own dialect.

-- name: counter_take (global)
-- Take fresh numbers from a counter.
SELECT nextval((:counter || '_counter')::regclass) AS id FROM generate_series(1, :count);

-- name: counter_advance (global)
-- Make sure that a counter continues above a given number.
SELECT setval((:counter || '_counter')::regclass, GREATEST(:last, nextval((:counter || '_counter')::regclass)));

-- name: counter_read (global)
-- Read the last number of a counter, without taking one: that would be a write.
SELECT CASE :counter WHEN 'item' THEN (SELECT last_value FROM item_counter)
    ELSE (SELECT last_value FROM revision_counter) END AS last;
