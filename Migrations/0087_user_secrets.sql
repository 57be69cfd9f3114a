-- pin_hash: as the password's, an argon2id PHC string. must_change_password: an operator set it.
ALTER TABLE users
    ADD COLUMN pin_hash text,
    ADD COLUMN must_change_password boolean NOT NULL DEFAULT false,
    ADD COLUMN password_changed_at timestamptz;
