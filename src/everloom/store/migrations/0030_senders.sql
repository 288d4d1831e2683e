-- Who says something, whether it is for the conversation or about it, and what it answers.
-- `sender` is the name of a speaker where several speak, and empty for the person whose workspace it is. An event comes
-- from a machine and takes no reply; a notice is a word of the system to a person, which no model sees. `quote` is the
-- text of an earlier message to which this one refers.
ALTER TABLE message ADD COLUMN sender TEXT NOT NULL DEFAULT '';
ALTER TABLE message ADD COLUMN kind TEXT NOT NULL DEFAULT 'message' CHECK (kind IN ('message', 'event', 'notice'));
ALTER TABLE message ADD COLUMN quote TEXT NOT NULL DEFAULT '';
