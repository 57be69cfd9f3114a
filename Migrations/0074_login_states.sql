-- grant_hash: of the link grant on whose page the sign-in began; NULL: another sign-in.
-- asked_anew: the provider was told to ask the person anew (max_age=0), so that nobody is sent back a second time.
ALTER TABLE login_states
    ADD COLUMN grant_hash bytea,
    ADD COLUMN asked_anew boolean NOT NULL DEFAULT false;
