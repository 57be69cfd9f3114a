-- kind: system. The upstreams of a pool that events have shown, by whose credentials they came (the nil id: the
-- platform's). A native user name that begins with one of them is not taken.
CREATE TABLE shown_upstreams (
    provider_id uuid NOT NULL REFERENCES providers (id) ON DELETE CASCADE,
    tenant_id uuid NOT NULL,
    names text[] NOT NULL,
    PRIMARY KEY (provider_id, tenant_id)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON shown_upstreams TO gatehouse_app;
