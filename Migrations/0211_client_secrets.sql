-- kind: system. The secret that a provider gave to one client contract's own client there, sealed; no
-- tenant's rows hang on it, and all of them are sealed anew when the secret key is replaced, as the
-- secrets of providers are.
-- audience: what it is sent to (provider, issuer, endpoints, client id): where any of it has changed
-- since, the secret is not sent any more. id: goes into the seal, so that a value opens at its row alone.
CREATE TABLE client_secrets (
    tenant_id uuid NOT NULL,
    client text NOT NULL,
    id uuid NOT NULL UNIQUE,
    sealed bytea NOT NULL,
    audience bytea NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, client)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON client_secrets TO gatehouse_app;
