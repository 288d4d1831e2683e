-- step: replace
-- The oldest program that may use the store: one that knows this step. Steps that only add leave it as it is, so that
-- programs of the version before go on.
ALTER TABLE store_identity ADD COLUMN oldest_program BIGINT NOT NULL DEFAULT 0;
