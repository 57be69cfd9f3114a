-- kind: system. Asks for a password reset: whether there is an account is found out after the answer,
-- so that asking takes the same time for every address. about: an HMAC of tenant and address, to count
-- by; email_key is gone once the ask is answered, next_at null.
CREATE TABLE reset_asks (
    id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL,
    about bytea NOT NULL,
    email_key text,
    next_at timestamptz,
    created_at timestamptz NOT NULL
);
CREATE INDEX reset_asks_due ON reset_asks (next_at, id) WHERE next_at IS NOT NULL;
CREATE INDEX reset_asks_by_thing ON reset_asks (about, created_at);
CREATE INDEX reset_asks_by_age ON reset_asks (created_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON reset_asks TO gatehouse_app;
