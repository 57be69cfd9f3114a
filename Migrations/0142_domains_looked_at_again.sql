-- kind: tenant. A domain that was proved by DNS is looked at again: check_at, next; lost_at, since when
-- its record is missing; changed_at, when the service itself last changed what is shown of it.
ALTER TABLE domains
    ADD COLUMN check_at timestamptz, ADD COLUMN lost_at timestamptz, ADD COLUMN changed_at timestamptz;
CREATE INDEX domains_to_check ON domains (coalesce(check_at, verified_at))
    WHERE status = 'verified' AND method = 'dns';
ALTER TABLE mail DROP CONSTRAINT mail_kind_check;
ALTER TABLE mail ADD CONSTRAINT mail_kind_check
    CHECK (kind IN ('invite', 'operator_link', 'password_reset', 'reset_request', 'domain_lost'));
