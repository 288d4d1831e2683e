-- Statements that PostgreSQL needs in its own dialect.

-- name: counter_take (global)
-- Take fresh numbers from a counter.
SELECT nextval((:counter || '_counter')::regclass) AS id FROM generate_series(1, :count);

-- name: counters_read (global)
-- Read the last numbers of all counters, without taking one: that would be a write.
SELECT 'item' AS name, last_value AS last FROM item_counter
UNION ALL SELECT 'revision', last_value FROM revision_counter;

-- name: counters_hold (global)
-- Keep others from taking numbers until this unit ends: changing a sequence waits for whoever has taken one, and who comes
-- later waits for us.
ALTER SEQUENCE item_counter NO CYCLE;

-- name: counters_advance (global)
-- Make sure that all counters continue above given numbers.
SELECT setval('item_counter', GREATEST(:item, nextval('item_counter'))),
    setval('revision_counter', GREATEST(:revision, nextval('revision_counter')));
