-- Statements of the conversation: messages both ways, exchanges, the array that the model sees, compactions.

-- name: message_add
-- Store a message, incoming or outgoing.
INSERT INTO message (workspace_id, id, direction, channel, address, sender_key, text, haystack, at, state, is_whole,
    exchange_id, attempts, not_before, sender, kind, quote, wakes, route)
VALUES (:workspace, :id, :direction, :channel, :address, :key, :text, :haystack, :at, :state, :is_whole, :exchange, 0, 0,
    :sender, :kind, :quote, :wakes, :route);

-- name: message_get
-- Read one message.
SELECT id, direction, channel, address, text, at, state, is_whole, exchange_id, attempts, not_before, last_error, refusals,
    sender, kind, quote, wakes, route
FROM message WHERE workspace_id = :workspace AND id = :id;

-- name: message_by_key
-- Find a message that a channel has delivered before.
SELECT id, direction, channel, address, text, at, state, is_whole, exchange_id, attempts, not_before, last_error, refusals,
    sender, kind, quote, wakes, route
FROM message WHERE workspace_id = :workspace AND channel = :channel AND sender_key = :key;

-- name: message_in_state
-- List the messages of one state, oldest first.
SELECT id, direction, channel, address, text, at, state, is_whole, exchange_id, attempts, not_before, last_error, refusals,
    sender, kind, quote, wakes, route
FROM message WHERE workspace_id = :workspace AND state = :state ORDER BY id;

-- name: message_of_exchange
-- List the messages of exchanges, in both directions.
SELECT id, direction, channel, address, text, at, state, is_whole, exchange_id, attempts, not_before, last_error, refusals,
    sender, kind, quote, wakes, route
FROM message WHERE workspace_id = :workspace AND exchange_id IN (:*ids) ORDER BY id;

-- name: message_recent
-- Read the log backwards.
SELECT id, direction, channel, address, text, at, state, is_whole, exchange_id, attempts, not_before, last_error, refusals,
    sender, kind, quote, wakes, route
FROM message WHERE workspace_id = :workspace AND id < :before ORDER BY id DESC LIMIT :limit;

-- name: message_holding
-- Find messages whose text contains a string, newest first.
SELECT id, direction, channel, address, text, haystack, at, state, is_whole, exchange_id, attempts, not_before, last_error, refusals,
    sender, kind, quote, wakes, route
FROM message WHERE workspace_id = :workspace AND id < :before AND haystack LIKE :pattern ESCAPE '!'
ORDER BY id DESC LIMIT :limit;

-- name: message_amend
-- Replace the words of a message that nobody has answered yet.
UPDATE message SET text = :text, haystack = :haystack WHERE workspace_id = :workspace AND id = :id;

-- name: message_answered
-- Record which exchange answered messages.
UPDATE message SET state = 'answered', exchange_id = :exchange, last_error = NULL
WHERE workspace_id = :workspace AND id IN (:*ids) AND state = 'waiting';

-- name: message_postponed
-- Pause messages after a failed attempt to answer them.
UPDATE message SET attempts = attempts + 1, not_before = :not_before, last_error = :error, refusals = :refusals
WHERE workspace_id = :workspace AND id IN (:*ids) AND state = 'waiting';

-- name: message_refused
-- Give up on messages that no model will answer.
UPDATE message SET state = 'refused', attempts = attempts + 1, last_error = :error, refusals = :refusals
WHERE workspace_id = :workspace AND id IN (:*ids) AND state = 'waiting';

-- name: notice_of
-- Find what was said about messages that wait, by its keys.
SELECT sender_key FROM message
WHERE workspace_id = :workspace AND channel IN (:*channels) AND sender_key IN (:*keys) AND direction = 'out';

-- name: notice_withdrawn
-- Take back what was not delivered yet, by its keys.
UPDATE message SET state = 'withdrawn'
WHERE workspace_id = :workspace AND channel IN (:*channels) AND sender_key IN (:*keys) AND direction = 'out'
    AND state = 'unsent';

-- name: message_withdrawn
-- Withdraw the messages of an exchange.
UPDATE message SET state = 'withdrawn' WHERE workspace_id = :workspace AND exchange_id = :exchange;

-- name: message_sending
-- Record that a message is being sent; only one sender finds it unsent.
UPDATE message SET state = 'sending', attempts = attempts + 1
WHERE workspace_id = :workspace AND id = :id AND state = 'unsent' AND (:channel = '' OR channel = :channel);

-- name: message_sent
-- Record that a message was delivered.
UPDATE message SET state = 'sent', last_error = NULL
WHERE workspace_id = :workspace AND id = :id AND direction = 'out' AND state IN ('unsent', 'sending', 'uncertain');

-- name: message_not_sent
-- Record that a message was not delivered, and whether to try again.
UPDATE message SET state = :state, not_before = :not_before, last_error = :error
WHERE workspace_id = :workspace AND id = :id AND direction = 'out' AND state IN ('unsent', 'sending', 'uncertain');

-- name: message_ripen
-- Allow all waiting messages to be answered now.
UPDATE message SET not_before = 0, is_whole = 1 WHERE workspace_id = :workspace AND state = 'waiting';

-- name: message_uncertain
-- Record that it is unknown whether a message arrived; it is not sent again.
UPDATE message SET state = 'uncertain', last_error = :error
WHERE workspace_id = :workspace AND id = :id AND direction = 'out' AND state = 'sending';

-- name: message_unsure
-- Record the same for all messages that were being sent when the last process ended.
UPDATE message SET state = 'uncertain', last_error = 'the process ended while it was being sent'
WHERE workspace_id = :workspace AND state = 'sending' AND (:every_channel = 1 OR channel IN (:*channels));

-- name: exchange_add
-- Store an exchange: the request, the model and the cost.
INSERT INTO exchange (workspace_id, id, cause, began_at, ended_at, model, rounds, input_tokens, output_tokens,
    cache_read_tokens, cache_write_tokens, micro_dollars, context_tokens, context_window, facts_state, facts_failures)
VALUES (:workspace, :id, :cause, :began_at, :ended_at, :model, :rounds, :input, :output, :cache_read, :cache_write,
    :micro_dollars, :context_tokens, :context_window, :facts_state, 0);

-- name: exchange_of
-- Read exchanges.
SELECT id, cause, began_at, ended_at, model, rounds, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens,
    micro_dollars, context_tokens, context_window, withdrawn_at
FROM exchange WHERE workspace_id = :workspace AND id IN (:*ids) ORDER BY id;

-- name: exchange_recent
-- List the newest exchanges.
SELECT id, cause, began_at, ended_at, model, rounds, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens,
    micro_dollars, context_tokens, context_window, withdrawn_at
FROM exchange WHERE workspace_id = :workspace AND id < :before ORDER BY id DESC LIMIT :limit;

-- name: exchange_last
-- Find the newest exchange that was not withdrawn.
SELECT id FROM exchange WHERE workspace_id = :workspace AND withdrawn_at IS NULL ORDER BY id DESC LIMIT 1;

-- name: exchange_last_end
-- Find when the newest exchange ended, also if it was withdrawn.
SELECT ended_at FROM exchange WHERE workspace_id = :workspace ORDER BY id DESC LIMIT 1;

-- name: exchange_withdrawn
-- Withdraw an exchange; nothing is learnt from it any more.
UPDATE exchange SET withdrawn_at = :at, facts_state = CASE WHEN facts_state = 'waiting' THEN 'skipped' ELSE facts_state END
WHERE workspace_id = :workspace AND id = :id AND withdrawn_at IS NULL;

-- name: entry_add
-- Append a turn to the array that the model sees.
INSERT INTO array_entry (workspace_id, position, exchange_id, role, blocks, at)
VALUES (:workspace, :position, :exchange, :role, :blocks, :at);

-- name: entry_last
-- Read the length of the array.
SELECT COALESCE(MAX(position), 0) AS position FROM array_entry WHERE workspace_id = :workspace;

-- name: entry_from
-- Read the array, starting at a position.
SELECT position, exchange_id, role, blocks, at FROM array_entry
WHERE workspace_id = :workspace AND position >= :position AND withdrawn_at IS NULL ORDER BY position;

-- name: entry_withdrawn
-- Remove the turns of a withdrawn exchange from the array.
UPDATE array_entry SET withdrawn_at = :at WHERE workspace_id = :workspace AND exchange_id = :exchange;

-- name: compaction_add
-- Record that the array was compacted up to a position.
INSERT INTO compaction (workspace_id, id, position, at, way, model, tokens_before, tokens_after, micro_dollars)
VALUES (:workspace, :id, :position, :at, :way, :model, :tokens_before, :tokens_after, :micro_dollars);

-- name: compaction_last
-- Find how far the array is compacted.
-- A compaction of an exchange that was withdrawn no longer counts.
SELECT COALESCE(MAX(c.position), 0) AS position, COALESCE(MAX(c.id), 0) AS id
FROM compaction AS c JOIN array_entry AS e ON e.workspace_id = c.workspace_id AND e.position = c.position
WHERE c.workspace_id = :workspace AND e.withdrawn_at IS NULL;

-- name: compaction_recent
-- List the newest compactions before an id with their summaries.
SELECT c.id, c.position, c.at, c.way, c.model, c.tokens_before, c.tokens_after, c.micro_dollars, e.blocks
FROM compaction AS c JOIN array_entry AS e ON e.workspace_id = c.workspace_id AND e.position = c.position
WHERE c.workspace_id = :workspace AND c.id < :before ORDER BY c.id DESC LIMIT :limit;

-- name: message_of
-- Read messages with what their channel calls them.
SELECT id, direction, channel, sender_key, text, at, state, exchange_id, last_error FROM message
WHERE workspace_id = :workspace AND (id IN (:*ids) OR exchange_id IN (:*ids)) ORDER BY id;

-- name: message_within
-- List the messages of a period.
SELECT id FROM message WHERE workspace_id = :workspace AND at BETWEEN :begin AND :end ORDER BY id LIMIT :limit;

-- name: exchange_within
-- List the exchanges of a period.
SELECT id FROM exchange WHERE workspace_id = :workspace AND ended_at BETWEEN :begin AND :end ORDER BY id LIMIT :limit;

-- name: message_drop
-- Delete messages.
DELETE FROM message WHERE workspace_id = :workspace AND id IN (:*ids);

-- name: exchange_drop
-- Delete exchanges.
DELETE FROM exchange WHERE workspace_id = :workspace AND id IN (:*ids);

-- name: entry_places
-- Find where the turns of exchanges stand in the array, copies included.
SELECT exchange_id, position FROM array_entry WHERE workspace_id = :workspace AND exchange_id IN (:*ids) ORDER BY position;

-- name: entry_texts
-- Read the turns of exchanges as they are stored.
SELECT exchange_id, blocks FROM array_entry WHERE workspace_id = :workspace AND exchange_id IN (:*ids) ORDER BY position;

-- name: entry_page
-- Read turns of the array in which tools were used or messages quoted, in order, from exchanges after an id.
SELECT position, blocks FROM array_entry
WHERE workspace_id = :workspace AND position > :after AND (exchange_id IS NULL OR exchange_id > :since)
    AND (blocks LIKE '%"tool\_%' ESCAPE '\' OR blocks LIKE '%(in reply to)%')
ORDER BY position LIMIT :limit;

-- name: entry_drop
-- Delete turns of the array.
DELETE FROM array_entry WHERE workspace_id = :workspace AND exchange_id IN (:*ids);

-- name: entry_drop_at
-- Delete one turn of the array.
DELETE FROM array_entry WHERE workspace_id = :workspace AND position = :position;

-- name: entry_rewrite
-- Rewrite one turn of the array.
UPDATE array_entry SET blocks = :blocks WHERE workspace_id = :workspace AND position = :position;

-- name: entry_drop_copies
-- Delete the turns that a compaction repeated after itself: they still stand before it.
DELETE FROM array_entry WHERE workspace_id = :workspace AND position > :position AND exchange_id IN (
    SELECT e.exchange_id FROM array_entry AS e WHERE e.workspace_id = :workspace AND e.position < :position);

-- name: compaction_places
-- List all compactions, oldest first, with the turns that hold them.
SELECT c.id, c.position, e.exchange_id, e.blocks FROM compaction AS c
JOIN array_entry AS e ON e.workspace_id = c.workspace_id AND e.position = c.position
WHERE c.workspace_id = :workspace ORDER BY c.position;

-- name: compaction_drop
-- Delete compactions.
DELETE FROM compaction WHERE workspace_id = :workspace AND id IN (:*ids);

-- name: contact_wrote
-- Record that a person has written from somewhere.
INSERT INTO contact (workspace_id, channel, address, wrote_id, reached_until, holder)
VALUES (:workspace, :channel, :address, :id, 0, '')
ON CONFLICT (workspace_id, channel, address) DO UPDATE SET wrote_id = :id;

-- name: contact_drop
-- Delete contacts from which no message is left.
DELETE FROM contact WHERE workspace_id = :workspace AND wrote_id > 0 AND NOT EXISTS (
    SELECT 1 FROM message AS m WHERE m.workspace_id = :workspace AND m.channel = contact.channel
    AND m.address = contact.address AND m.direction = 'in');

-- name: contact_all
-- List where a person is reached or has written, the places that are reached first.
SELECT channel, address, wrote_id, reached_until FROM contact WHERE workspace_id = :workspace
ORDER BY CASE WHEN reached_until > :now THEN 0 ELSE 1 END, wrote_id DESC LIMIT :limit;

-- name: contact_reached
-- Record until when somebody is reached somewhere.
INSERT INTO contact (workspace_id, channel, address, wrote_id, reached_until, holder)
VALUES (:workspace, :channel, :address, 0, :until, :holder)
ON CONFLICT (workspace_id, channel, address) DO UPDATE SET reached_until = :until, holder = :holder;

-- name: contact_left
-- Record that somebody has left; only who said that they are there says so.
UPDATE contact SET reached_until = 0 WHERE workspace_id = :workspace AND channel = :channel AND holder = :holder;

-- name: message_roaming
-- List what the agent said first and nobody has got yet, unless it is too old to be told.
SELECT id, direction, channel, address, text, at, state, is_whole, exchange_id, attempts, not_before, last_error, refusals,
    sender, kind, quote, wakes, route
FROM message WHERE workspace_id = :workspace AND state IN ('unsent', 'undeliverable') AND route IS NOT NULL AND at >= :since
ORDER BY id;

-- name: message_moved
-- Send a message elsewhere, unless it is on its way by now.
UPDATE message SET channel = :channel, address = :address, route = :route, state = 'unsent', attempts = 0, not_before = 0
WHERE workspace_id = :workspace AND id = :id AND channel = :from_channel AND address = :from_address
    AND state IN ('unsent', 'undeliverable');

-- name: prompt_get
-- Read the system prompt as it was last built.
SELECT signature, body, whole FROM system_prompt WHERE workspace_id = :workspace;

-- name: prompt_put
-- Store the system prompt as it was built.
INSERT INTO system_prompt (workspace_id, signature, body, whole, at) VALUES (:workspace, :signature, :body, :whole, :at)
ON CONFLICT (workspace_id) DO UPDATE SET signature = excluded.signature, body = excluded.body, whole = excluded.whole,
    at = excluded.at;

-- name: prompt_drop
-- Delete the system prompt, which may hold what was forgotten; it is built again.
DELETE FROM system_prompt WHERE workspace_id = :workspace;

-- name: message_quotes
-- List what messages quote of others.
SELECT id, quote FROM message WHERE workspace_id = :workspace AND quote <> '';

-- name: message_unquote
-- Take out what a message quotes.
UPDATE message SET quote = '' WHERE workspace_id = :workspace AND id = :id;

-- name: message_errors
-- List why messages failed.
SELECT id, last_error FROM message WHERE workspace_id = :workspace AND last_error IS NOT NULL;

-- name: message_error_blank
-- Take out why a message failed.
UPDATE message SET last_error = :error WHERE workspace_id = :workspace AND id = :id;

-- name: notice_texts
-- List what the system has told people after an id, and what it has yet to tell the agent.
SELECT id, text FROM message WHERE workspace_id = :workspace AND id > :since
    AND (kind = 'notice' OR (kind = 'event' AND channel = :own AND state = 'waiting'));

-- name: notice_blank
-- Take the words out of a notice; one that nobody was told yet is not told any more.
UPDATE message SET text = :text, haystack = :text,
    state = CASE WHEN state IN ('unsent', 'waiting') THEN 'withdrawn' ELSE state END
WHERE workspace_id = :workspace AND id = :id;

-- name: attachment_add
-- Record a file that came with a message.
INSERT INTO attachment (workspace_id, message_id, number, hash, name, media_type, size, text, note, seconds, tokens)
VALUES (:workspace, :message, :number, :hash, :name, :media_type, :size, :text, :note, :seconds, :tokens);

-- name: attachment_of
-- List the files of messages, in order.
SELECT message_id, number, hash, name, media_type, size, text, note, seconds, tokens FROM attachment
WHERE workspace_id = :workspace AND message_id IN (:*ids) ORDER BY message_id, number;

-- name: attachment_hashes
-- List the files that messages refer to, each once.
SELECT hash, MAX(size) AS size FROM attachment WHERE workspace_id = :workspace AND hash <> '' GROUP BY hash;

-- name: attachment_unheard
-- List recordings of waiting messages to which nobody has listened yet.
SELECT a.message_id, a.number, a.hash, a.media_type, a.seconds, a.attempts, a.not_before FROM message AS m
JOIN attachment AS a ON a.workspace_id = m.workspace_id AND a.message_id = m.id
WHERE m.workspace_id = :workspace AND m.state = 'waiting' AND m.direction = 'in'
    AND a.media_type LIKE 'audio/%' AND a.hash <> '' AND a.text = '' AND a.note = ''
ORDER BY a.message_id, a.number;

-- name: attachment_postpone
-- Record a failed attempt to listen to a recording.
UPDATE attachment SET attempts = :attempts, not_before = :not_before
WHERE workspace_id = :workspace AND message_id = :message AND number = :number;

-- name: attachment_heard
-- Record what was heard in a recording, or why nothing was.
UPDATE attachment SET text = :text, note = :note
WHERE workspace_id = :workspace AND message_id = :message AND number = :number;

-- name: attachment_drop
-- Delete what messages came with.
DELETE FROM attachment WHERE workspace_id = :workspace AND message_id IN (:*ids);

-- name: deed_all
-- List what tools have done in turns that are not answered yet, oldest first.
SELECT id, tool, input_hash, input, messages, began_at, ended_at, answer, has_failed FROM deed
WHERE workspace_id = :workspace ORDER BY id;

-- name: deed_add
-- Begin a deed.
INSERT INTO deed (workspace_id, id, tool, input_hash, input, messages, began_at, ended_at, answer, has_failed)
VALUES (:workspace, :id, :tool, :input_hash, :input, :messages, :at, NULL, '', 0);

-- name: deed_end
-- Record how a deed ended.
UPDATE deed SET ended_at = :at, answer = :answer, has_failed = :has_failed WHERE workspace_id = :workspace AND id = :id;

-- name: deed_drop
-- Delete deeds.
DELETE FROM deed WHERE workspace_id = :workspace AND id IN (:*ids);

-- name: deed_blank
-- Take the words out of a deed; that it was done stays.
UPDATE deed SET input = :input, answer = :answer WHERE workspace_id = :workspace AND id = :id;
