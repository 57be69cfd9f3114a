-- kind: system. The keys of access tokens. The private part is sealed; public_jwk is published from
-- the first to the end of the overlap. A successor is written before it signs, so that every
-- replica and every reader of the key set knows it by then.
CREATE TABLE signing_keys (
    generation integer PRIMARY KEY,
    kid text NOT NULL UNIQUE,
    sealed bytea NOT NULL,
    public_jwk text NOT NULL,
    signs_from timestamptz NOT NULL,
    signs_until timestamptz NOT NULL,
    published_until timestamptz NOT NULL
);
GRANT SELECT, INSERT, UPDATE, DELETE ON signing_keys TO gatehouse_app;
