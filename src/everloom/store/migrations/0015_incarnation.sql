-- Changes whenever the store is migrated or restored. A process that began with another one refuses to go on.
ALTER TABLE store_identity ADD COLUMN incarnation TEXT NOT NULL DEFAULT '';
