-- Statements that SQLite alone needs: one counter serves all workspaces of a file.

-- name: counters_read (global)
-- Read the last numbers of all counters.
SELECT name, last FROM counter;

-- name: counters_advance (global)
-- Make sure that all counters continue above given numbers.
UPDATE counter SET last = MAX(last, CASE name WHEN 'item' THEN :item ELSE :revision END);
