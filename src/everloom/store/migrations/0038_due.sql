-- From when on a task should look at a workspace: written with whatever gives it something to do, and gone once it has
-- found nothing. Whoever looks writes a number into `claim`, and whoever marks the row meanwhile takes it out again, so
-- that no mark is lost. `basis` says by which settings the row of the audit was written.
CREATE TABLE due (
    workspace_id BIGINT NOT NULL REFERENCES workspace (id),
    task TEXT NOT NULL,
    at BIGINT NOT NULL,
    claim BIGINT NOT NULL DEFAULT 0,
    basis TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (workspace_id, task)
); -- small
CREATE INDEX due_by_time ON due (task, at);
