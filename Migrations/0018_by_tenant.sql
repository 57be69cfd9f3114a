-- Stored responses and mail stand with the tenant whose change they belong to: what an engine that spreads tenants
-- over machines then writes in one transaction on one machine. The nil UUID: calls and mail of the platform itself.
ALTER TABLE idempotency ADD COLUMN tenant_id uuid;
-- A retry finds the response of its first call, which ran before this file.
UPDATE idempotency SET tenant_id = coalesce((
    SELECT t.id FROM tenants t
    WHERE substring(path FROM '^/v1/tenants/([^/?]+)') IN (t.id::text, t.slug)), '00000000-0000-0000-0000-000000000000');
ALTER TABLE idempotency ALTER COLUMN tenant_id SET NOT NULL,
    DROP CONSTRAINT idempotency_pkey, ADD PRIMARY KEY (tenant_id, principal, method, path, key_hash);
-- How much one credential has stored, in all tenants.
CREATE INDEX idempotency_by_principal ON idempotency (principal, created_at);

ALTER TABLE mail DROP CONSTRAINT mail_pkey, ADD PRIMARY KEY (tenant_id, id);
DROP INDEX mail_by_tenant, mail_by_thing;
CREATE INDEX mail_by_thing ON mail (tenant_id, about, created_at);
-- Across tenants the platform's role reads: what is due, what is over, how much was stored or sent.
GRANT SELECT ON idempotency, mail TO gatehouse_platform;
