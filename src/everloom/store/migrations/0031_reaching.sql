-- Where people are reached, and where what the agent says first has gone.
-- A contact is a channel and an address from which a person has written, or at which somebody is reached now. `wrote_id`
-- is the last message from there (0: none yet). `reached_until` is a lease: the process `holder` renews it while somebody
-- can be reached there, so that a process that dies leaves nobody behind who is not there.
CREATE TABLE contact (
    workspace_id BIGINT NOT NULL,
    channel TEXT NOT NULL,
    address TEXT NOT NULL,
    wrote_id BIGINT NOT NULL,
    reached_until BIGINT NOT NULL,
    holder TEXT NOT NULL,
    PRIMARY KEY (workspace_id, channel, address)
); -- small
INSERT INTO contact (workspace_id, channel, address, wrote_id, reached_until, holder)
SELECT workspace_id, channel, address, MAX(id), 0, '' FROM message
WHERE direction = 'in' AND kind = 'message' AND state NOT IN ('refused', 'withdrawn')
GROUP BY workspace_id, channel, address;

-- Whether an event causes a turn by itself; one that does not waits for the next message.
ALTER TABLE message ADD COLUMN wakes BIGINT NOT NULL DEFAULT 1;
-- Where a message that belongs to no channel has gone and why, as JSON; null for a reply, which goes where the question
-- came from.
ALTER TABLE message ADD COLUMN route TEXT;
