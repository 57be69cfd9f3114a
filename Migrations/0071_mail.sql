-- kind: system. Mails on their way, written with what they tell of. `letter` is sealed and gone
-- once the mail is taken, given up or no longer wanted; `next_at` null: nothing is left to do.
CREATE TABLE mail (
    id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL,
    kind text NOT NULL
        CHECK (kind IN ('invite', 'operator_link', 'password_reset', 'reset_request')),
    about uuid NOT NULL,
    letter bytea,
    attempts integer NOT NULL DEFAULT 0,
    next_at timestamptz,
    created_at timestamptz NOT NULL,
    ended_at timestamptz,
    failure text
);
CREATE INDEX mail_due ON mail (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX mail_by_thing ON mail (about, created_at);
CREATE INDEX mail_by_age ON mail (created_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON mail TO gatehouse_app;
