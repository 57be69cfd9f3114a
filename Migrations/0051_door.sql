-- Increases with each change of what the operator signs in with: who proved the earlier begins no session any more.
ALTER TABLE operators ADD COLUMN proof_version bigint NOT NULL DEFAULT 0;

-- kind: system. Challenges of sign-ins by passkeys that were answered, until they end: each is good once. One that was
-- not answered yet has no row, so that asking for many costs nobody anything. challenge_hash: its SHA-256.
CREATE TABLE answered_challenges (
    challenge_hash bytea PRIMARY KEY CHECK (octet_length(challenge_hash) = 32),
    expires_at timestamptz NOT NULL
);
CREATE INDEX answered_challenges_by_end ON answered_challenges (expires_at);

GRANT SELECT, INSERT, UPDATE, DELETE ON answered_challenges TO gatehouse_app;
