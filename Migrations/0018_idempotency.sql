-- kind: system. Answers kept for 24 hours; those with a secret are sealed.
CREATE TABLE idempotency (
    principal text NOT NULL,
    method text NOT NULL,
    path text NOT NULL,
    key_hash bytea NOT NULL,
    body_hash bytea NOT NULL,
    answer bytea,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (principal, method, path, key_hash)
);
CREATE INDEX idempotency_by_age ON idempotency (created_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON idempotency TO gatehouse_app;
