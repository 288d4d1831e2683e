-- What PostgreSQL says in its own way.

-- name: counter_take (global)
-- Take fresh numbers from a counter.
SELECT nextval((:counter || '_counter')::regclass) AS id FROM generate_series(1, :count);

-- name: counter_advance (global)
-- See that a counter gives only numbers above one.
SELECT setval((:counter || '_counter')::regclass, GREATEST(:last, nextval((:counter || '_counter')::regclass)));

-- name: counter_read (global)
-- Read how far a counter has come.
SELECT nextval((:counter || '_counter')::regclass) AS last;
