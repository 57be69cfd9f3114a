-- What the apps tell of their device, how the person signed in, and until when a PIN lifts the
-- session. An access token's session is found by its id, an opaque token's by the token's hash.
ALTER TABLE sessions
    ADD COLUMN device_type text,
    ADD COLUMN device_os text,
    ADD COLUMN method text NOT NULL DEFAULT 'oauth' CHECK (method IN ('password', 'oauth')),
    ADD COLUMN elevated_until timestamptz;
