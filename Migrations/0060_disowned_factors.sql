-- Disowned: the link in the mail about it was followed. It proves nothing any more, and yet
-- the password alone opens nothing: who reads the mail must not get around a second factor.
ALTER TABLE operator_passkeys ADD COLUMN disowned boolean NOT NULL DEFAULT false;
ALTER TABLE operator_totp ADD COLUMN disowned boolean NOT NULL DEFAULT false;

-- What the mail with the link is about: which kind, and of several the one.
ALTER TABLE operator_links
    ADD COLUMN factor text CHECK (factor IN ('passkey', 'totp', 'recovery_codes', 'provider')),
    ADD COLUMN factor_id uuid;
