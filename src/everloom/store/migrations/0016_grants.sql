-- Whose messages a workspace takes: `sender` is another workspace, by its id, so that a name that is given away takes no
-- permission along. Ids are never used twice: the grant of a sender that was removed means nobody.
CREATE TABLE party_grant (
    workspace_id BIGINT NOT NULL REFERENCES workspace (id),
    sender BIGINT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, sender)
); -- small
