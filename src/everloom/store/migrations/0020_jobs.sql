-- Work that somebody started and does not wait for. `changed` grows with every change of any job of a workspace, in commit
-- order: whoever follows them goes on after the last one seen. A job whose holder has died is gone.
CREATE TABLE job (
    workspace_id BIGINT NOT NULL REFERENCES workspace (id),
    id BIGINT NOT NULL,
    work TEXT NOT NULL,
    state TEXT NOT NULL,
    holder TEXT NOT NULL,
    held_until BIGINT NOT NULL,
    stop_asked BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    changed_at BIGINT NOT NULL,
    ended_at BIGINT,
    changed BIGINT NOT NULL,
    done BIGINT NOT NULL,
    due BIGINT NOT NULL,
    task TEXT,
    report TEXT,
    error TEXT,
    PRIMARY KEY (workspace_id, id)
); -- small
CREATE INDEX job_by_change ON job (workspace_id, changed);
