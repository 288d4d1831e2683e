-- How often in a row a model refused to answer a message: a count, where it used to be read out of the error's words.
ALTER TABLE message ADD COLUMN refusals BIGINT NOT NULL DEFAULT 0;
