-- kind: system. The lease of each replica, and what has been revoked.
CREATE TABLE replicas (id uuid PRIMARY KEY, lease_until timestamptz NOT NULL, acked bigint NOT NULL);
CREATE TABLE revocations (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text NOT NULL,
    key bytea NOT NULL,
    at timestamptz NOT NULL
);
GRANT SELECT, INSERT, UPDATE, DELETE ON replicas, revocations TO gatehouse_app;
