-- kind: system. A reservation belongs to who told of the sign-up: the platform (the nil id) or the tenant whose
-- credential called. A caller reads, completes and overwrites its own alone, so that none plants
-- what another's sign-up would use. Nothing is released: rows without a caller are not carried over.
DELETE FROM reservations;
ALTER TABLE reservations DROP CONSTRAINT reservations_pkey;
ALTER TABLE reservations ADD COLUMN caller uuid NOT NULL,
    ADD COLUMN number bigint GENERATED ALWAYS AS IDENTITY,
    ADD PRIMARY KEY (caller, provider, issuer, subject);
DROP INDEX reservations_by_alias;
CREATE INDEX reservations_by_alias ON reservations (caller, provider, issuer, alias)
    WHERE alias IS NOT NULL;
-- The oldest go first where there are too many.
CREATE INDEX reservations_by_address ON reservations (caller, email_key, expires_at);
CREATE INDEX reservations_by_pool ON reservations (caller, issuer, expires_at);
