-- The system prompt as it was last built, so that all processes of a workspace send the same bytes, which a provider has
-- cached. `signature` tells of which notes it was made, `whole` (JSON) which of them it shows from beginning to end. It is
-- made of notes alone and can be made again: a forgetting deletes it.
CREATE TABLE system_prompt (
    workspace_id BIGINT PRIMARY KEY REFERENCES workspace (id),
    signature TEXT NOT NULL,
    body TEXT NOT NULL,
    whole TEXT NOT NULL,
    at BIGINT NOT NULL
);
