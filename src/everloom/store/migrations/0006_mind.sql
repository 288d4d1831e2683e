-- The conversation: what was said on every channel, what the model sees of it, and the notes beside it.

-- An exchange: one turn that was answered, or one time the agent spoke first. Written whole or not at all; it is what
-- archive, facts and usage refer to. `facts_state` is the work that waits behind it.
CREATE TABLE exchange (
    workspace_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    cause TEXT NOT NULL CHECK (cause IN ('message', 'heartbeat', 'schedule')),
    began_at BIGINT NOT NULL,
    ended_at BIGINT NOT NULL,
    model TEXT NOT NULL,
    rounds BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cache_read_tokens BIGINT NOT NULL,
    cache_write_tokens BIGINT NOT NULL,
    micro_dollars BIGINT,
    -- How full the model's window was at the end, and how much it holds.
    context_tokens BIGINT NOT NULL,
    context_window BIGINT NOT NULL,
    facts_state TEXT NOT NULL CHECK (facts_state IN ('waiting', 'done', 'skipped')),
    facts_failures BIGINT NOT NULL,
    -- Not tried again before this time, after a failure.
    facts_not_before BIGINT,
    withdrawn_at BIGINT,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, id) REFERENCES item (workspace_id, id)
); -- small
CREATE INDEX exchange_by_facts ON exchange (workspace_id, facts_state, id);

-- The log of record: every message, both ways, never capped. `sender_key` is the channel's own id of a message, so that
-- one that arrives twice is kept once. A message in waits until an exchange answers it; a message out waits until its
-- channel delivered it, and is `uncertain` when nobody can tell whether it was.
CREATE TABLE message (
    workspace_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    direction TEXT NOT NULL CHECK (direction IN ('in', 'out')),
    channel TEXT NOT NULL,
    address TEXT NOT NULL,
    sender_key TEXT,
    text TEXT NOT NULL,
    -- The same text folded, so that both engines find the same words in it.
    haystack TEXT NOT NULL,
    at BIGINT NOT NULL,
    state TEXT NOT NULL CHECK (state IN (
        'waiting', 'answered', 'refused', 'withdrawn', 'unsent', 'sending', 'sent', 'uncertain', 'undeliverable'
    )),
    is_whole BIGINT NOT NULL,
    exchange_id BIGINT,
    attempts BIGINT NOT NULL,
    not_before BIGINT NOT NULL,
    last_error TEXT,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, channel, sender_key),
    FOREIGN KEY (workspace_id, id) REFERENCES item (workspace_id, id),
    FOREIGN KEY (workspace_id, exchange_id) REFERENCES exchange (workspace_id, id)
); -- small
CREATE INDEX message_by_state ON message (workspace_id, state, id);
CREATE INDEX message_by_exchange ON message (workspace_id, exchange_id);

-- What the model sees, turn by turn. Nothing is ever taken out: the working array is the entries from the last
-- compaction on. `blocks` is JSON; reasoning is not in it.
CREATE TABLE array_entry (
    workspace_id BIGINT NOT NULL,
    position BIGINT NOT NULL,
    exchange_id BIGINT,
    role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
    blocks TEXT NOT NULL,
    at BIGINT NOT NULL,
    withdrawn_at BIGINT,
    PRIMARY KEY (workspace_id, position),
    FOREIGN KEY (workspace_id, exchange_id) REFERENCES exchange (workspace_id, id)
); -- small

-- A compaction: the entry at `position` holds its block, and the array begins there.
CREATE TABLE compaction (
    workspace_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    position BIGINT NOT NULL,
    at BIGINT NOT NULL,
    way TEXT NOT NULL CHECK (way IN ('server', 'model', 'outline')),
    model TEXT NOT NULL,
    tokens_before BIGINT NOT NULL,
    tokens_after BIGINT NOT NULL,
    micro_dollars BIGINT,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, id) REFERENCES item (workspace_id, id),
    FOREIGN KEY (workspace_id, position) REFERENCES array_entry (workspace_id, position)
); -- small

-- A note: a file that the person and the agent share. `body_hash` tells what was last known of the file (empty: there was
-- none), `next_hash` what is on its way into it; a note without a file is one that was removed.
CREATE TABLE mind_note (
    workspace_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    name TEXT NOT NULL,
    body_hash TEXT NOT NULL,
    next_hash TEXT,
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, name),
    FOREIGN KEY (workspace_id, id) REFERENCES item (workspace_id, id)
); -- small
CREATE TABLE mind_note_version (
    workspace_id BIGINT NOT NULL,
    note_id BIGINT NOT NULL,
    number BIGINT NOT NULL,
    body TEXT NOT NULL,
    author TEXT NOT NULL CHECK (author IN ('agent', 'person')),
    at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, note_id, number),
    FOREIGN KEY (workspace_id, note_id) REFERENCES mind_note (workspace_id, id)
);

-- A message that the agent will send at a time; with `every`, again and again.
CREATE TABLE scheduled (
    workspace_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    text TEXT NOT NULL,
    channel TEXT NOT NULL,
    address TEXT NOT NULL,
    due_at BIGINT NOT NULL,
    every TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'sent', 'cancelled')),
    created_at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, id) REFERENCES item (workspace_id, id)
); -- small
CREATE INDEX scheduled_by_due ON scheduled (workspace_id, state, due_at);

-- Each time the agent wondered whether to speak first, and why it did or did not.
CREATE TABLE heartbeat (
    workspace_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    at BIGINT NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('sent', 'silent', 'suppressed', 'failed')),
    reason TEXT NOT NULL,
    exchange_id BIGINT,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, id) REFERENCES item (workspace_id, id),
    FOREIGN KEY (workspace_id, exchange_id) REFERENCES exchange (workspace_id, id)
); -- small

-- An observation that no longer holds. It stays as evidence of what was once so; `superseded_by` is what holds instead,
-- where something does.
ALTER TABLE observation ADD COLUMN superseded_at BIGINT;
ALTER TABLE observation ADD COLUMN superseded_by BIGINT;
