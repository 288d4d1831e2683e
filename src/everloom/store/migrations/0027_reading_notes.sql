-- When a note was first shown in a context or marked as read, and in which session: that one still finds it unread for a
-- while, so that its context stays the same. Null for what nobody has read.
ALTER TABLE note ADD COLUMN read_at BIGINT;
ALTER TABLE note ADD COLUMN read_in BIGINT;
