-- Which store this is, in one row: `id` names its files in the data directory, and two stores never share one. A copy of
-- all rows into another store leaves that store's own id in place.
CREATE TABLE store_identity (
    id TEXT PRIMARY KEY
); -- small
-- only: sqlite
INSERT INTO store_identity VALUES (lower(hex(randomblob(8))));
-- end
-- only: postgresql
INSERT INTO store_identity VALUES (substr(replace(gen_random_uuid()::text, '-', ''), 17));
-- end
