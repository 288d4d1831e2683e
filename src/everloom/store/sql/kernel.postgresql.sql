-- What PostgreSQL says in its own way.

-- name: counter_take (global)
SELECT nextval((:counter || '_counter')::regclass) AS id FROM generate_series(1, :count);

-- name: counter_advance (global)
SELECT setval((:counter || '_counter')::regclass, GREATEST(:last, nextval((:counter || '_counter')::regclass)));

-- name: counter_read (global)
SELECT nextval((:counter || '_counter')::regclass) AS last;
