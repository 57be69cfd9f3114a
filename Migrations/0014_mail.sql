-- kind: system. Outgoing mail, written in the transaction of the change that it reports. `letter` is sealed, and
-- NULL once the mail server has accepted the mail, or it is given up or no longer wanted; next_at NULL: nothing
-- is left to do.
CREATE TABLE mail (
    id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL,
    -- The program decides which kinds there are: a list here would make each new kind two changes.
    kind text NOT NULL CHECK (kind ~ '^[a-z_]{1,40}$'),
    about uuid NOT NULL,
    letter bytea,
    attempts integer NOT NULL DEFAULT 0,
    next_at timestamptz,
    created_at timestamptz NOT NULL,
    ended_at timestamptz,
    failure text,
    -- Mail leaves in turns, so that one tenant's many mails do not hold up those of the others: turn is when a
    -- mail would leave if each tenant sent one a minute (of urgent ones, which a user waits for, one a second).
    -- It orders mail and delays none.
    turn timestamptz NOT NULL DEFAULT now(),
    -- An HMAC of the address, to count by.
    recipient bytea,
    urgent boolean NOT NULL DEFAULT false
);
CREATE INDEX mail_by_thing ON mail (about, created_at);
CREATE INDEX mail_by_age ON mail (created_at);
-- For the purge of a tenant.
CREATE INDEX mail_by_tenant ON mail (tenant_id);
CREATE INDEX mail_by_turn ON mail (turn, id) WHERE next_at IS NOT NULL;
CREATE INDEX mail_by_tenants_turn ON mail (tenant_id, urgent, turn) WHERE next_at IS NOT NULL;
CREATE INDEX mail_by_recipient ON mail (recipient, created_at);
CREATE INDEX mail_by_tenants_kind ON mail (tenant_id, kind, created_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON mail TO gatehouse_app;
