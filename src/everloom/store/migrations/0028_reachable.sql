-- By how much used recalls have put off the fading of a memory since it was last read, in microseconds.
ALTER TABLE access ADD COLUMN lent BIGINT NOT NULL DEFAULT 0;
-- What pages, reflections and the record of use were last made from, as JSON: a hash for each.
ALTER TABLE graph ADD COLUMN made_from TEXT NOT NULL DEFAULT '{}';
