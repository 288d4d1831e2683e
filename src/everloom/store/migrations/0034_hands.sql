-- The tools of other programs that the agent may use, and what it wants to do with them or with notes.
-- `told` is a tool as its server describes it now, `allowed` as the person allowed it: one that has changed since is not
-- offered until the person has approved the change.
CREATE TABLE hand_tool (
    workspace_id BIGINT NOT NULL REFERENCES workspace (id),
    server TEXT NOT NULL,
    tool TEXT NOT NULL,
    told TEXT NOT NULL,
    allowed TEXT NOT NULL,
    -- Whether the person said that it need not ask again.
    is_always BIGINT NOT NULL,
    -- Whether the server has stopped listing it.
    is_gone BIGINT NOT NULL,
    told_at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, server, tool)
);
CREATE TABLE hand_server (
    workspace_id BIGINT NOT NULL REFERENCES workspace (id),
    server TEXT NOT NULL,
    -- When it last told its tools, and when and why it last failed; 0 for never.
    listed_at BIGINT NOT NULL,
    failed_at BIGINT NOT NULL,
    last_error TEXT NOT NULL,
    PRIMARY KEY (workspace_id, server)
);
-- What the agent wants to do, and what became of it: the use of a tool, a change of a note, or the change of a tool that
-- a server has made. `question` is what the person is shown, and `input` what is done, exactly. An action that ran unasked
-- was never waiting.
CREATE TABLE action (
    workspace_id BIGINT NOT NULL REFERENCES workspace (id),
    id BIGINT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('tool', 'note', 'change')),
    server TEXT NOT NULL,
    tool TEXT NOT NULL,
    input TEXT NOT NULL,
    question TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN (
        'waiting', 'approved', 'refused', 'expired', 'running', 'done', 'failed', 'unknown'
    )),
    is_asked BIGINT NOT NULL,
    -- The key of the call that wants it: the same call in a turn that is tried again is the same action.
    call_key TEXT,
    channel TEXT NOT NULL,
    address TEXT NOT NULL,
    asked_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    decided_at BIGINT,
    decided_by TEXT NOT NULL,
    began_at BIGINT,
    ended_at BIGINT,
    result TEXT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, call_key)
);
CREATE INDEX action_by_state ON action (workspace_id, state, id);
