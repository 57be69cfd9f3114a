-- Stored responses and mail are written with the tenant whose change they belong to: what an engine that spreads
-- tenants over machines then writes in one transaction on one machine. The nil UUID: calls of the platform itself,
-- and those of a program of before this file. The keys stay as such a program names them.
ALTER TABLE idempotency
    ADD COLUMN tenant_id uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000';
-- A retry finds the response of its first call, which ran before this file.
UPDATE idempotency SET tenant_id = t.id FROM tenants t
WHERE substring(path FROM '^/v1/tenants/([^/?]+)') IN (t.id::text, t.slug);
CREATE INDEX idempotency_by_tenant ON idempotency (tenant_id, created_at);
-- Across tenants the platform's role reads: what is due, what is over, how much was stored or sent.
GRANT SELECT ON idempotency, mail TO gatehouse_platform;
