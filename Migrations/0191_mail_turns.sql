-- Mails leave in turns, so that one tenant's list does not stand before everybody's: turn is when a
-- mail would leave if each tenant's mails left one a minute (those that a person waits for, one a
-- second). It orders mails and delays none. recipient: an HMAC of the address, to count by.
ALTER TABLE mail ADD COLUMN turn timestamptz NOT NULL DEFAULT now(), ADD COLUMN recipient bytea,
    ADD COLUMN urgent boolean NOT NULL DEFAULT false;
DROP INDEX mail_due;
CREATE INDEX mail_by_turn ON mail (turn, id) WHERE next_at IS NOT NULL;
CREATE INDEX mail_by_tenants_turn ON mail (tenant_id, urgent, turn) WHERE next_at IS NOT NULL;
CREATE INDEX mail_by_recipient ON mail (recipient, created_at);
CREATE INDEX mail_by_tenants_kind ON mail (tenant_id, kind, created_at);
