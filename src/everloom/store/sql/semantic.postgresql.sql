-- Statements that PostgreSQL needs in its own dialect.

-- name: subject_name_foreign
-- Find names that may look like another: about as long, with a character outside ASCII unless every one is asked for.
SELECT name, subject_id FROM subject_name
WHERE workspace_id = :workspace AND LENGTH(name_key) BETWEEN :shortest AND :longest
    AND (:every = 1 OR OCTET_LENGTH(name) <> LENGTH(name))
LIMIT 2000;
