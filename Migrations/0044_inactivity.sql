-- Rules for unused accounts. keep: the user is left out of them. resumed_at: when the user last became active
-- without a sign-in, by an import, an invite's page, an approval, a resumption or a restoration, or set a password by a
-- link: it counts as a use.
ALTER TABLE users
    ADD COLUMN keep boolean NOT NULL DEFAULT false,
    ADD COLUMN resumed_at timestamptz;

-- Whether the winner was kept before the merge; of merges from before this file, which can only be undone for some
-- days more, nobody was.
ALTER TABLE user_merges ADD COLUMN winner_kept boolean NOT NULL DEFAULT false;

-- From when the rule of the policy in force counts at the earliest: its publication, or a later resumption of the
-- tenant. NULL: the policy has none.
ALTER TABLE tenants ADD COLUMN inactivity_since timestamptz;
CREATE INDEX tenants_with_inactivity ON tenants (id) WHERE inactivity_since IS NOT NULL;

-- kind: tenant. The last use of an account that no other row tells: of its sessions that have ended, by a trigger, so
-- that no end of one is forgotten; and a merge of it, or its undoing. It refers to no row of users: a sweep must not wait for one that a request has locked.
CREATE TABLE user_uses (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    used_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id)
);

-- Nothing stays of sessions that fall with their user or tenant.
CREATE FUNCTION session_ended_put() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    INSERT INTO user_uses AS s (tenant_id, user_id, used_at)
        SELECT o.tenant_id, o.user_id, max(o.last_seen_at) FROM ended o
        WHERE EXISTS (SELECT 1 FROM users u WHERE u.tenant_id = o.tenant_id AND u.id = o.user_id)
            AND EXISTS (SELECT 1 FROM tenants t WHERE t.id = o.tenant_id AND t.status <> 'deleted')
        GROUP BY o.tenant_id, o.user_id ORDER BY o.tenant_id, o.user_id
        ON CONFLICT (tenant_id, user_id)
            DO UPDATE SET used_at = greatest(s.used_at, excluded.used_at);
    RETURN NULL;
END $$;
CREATE TRIGGER session_ended AFTER DELETE ON sessions
    REFERENCING OLD TABLE AS ended FOR EACH STATEMENT EXECUTE FUNCTION session_ended_put();

-- kind: tenant. What the rule has done to a user. by_mail: whether the warning could be sent. suspended_version: the
-- version that the suspension left; a user of another one was changed since, and is the rule's no more.
CREATE TABLE inactive_users (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    warned_at timestamptz,
    by_mail boolean NOT NULL DEFAULT false,
    suspended_at timestamptz,
    suspended_version bigint,
    PRIMARY KEY (tenant_id, user_id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);

-- kind: tenant. Days of UTC on which the rule was followed, and to how many users it did something.
CREATE TABLE inactivity_days (
    tenant_id uuid NOT NULL,
    day timestamptz NOT NULL,
    acts bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, day)
);
CREATE INDEX inactivity_days_by_day ON inactivity_days (day);

-- kind: tenant. The last dry run of a policy with another rule: what was tried, and against which version.
CREATE TABLE policy_trials (
    tenant_id uuid PRIMARY KEY,
    content bytea NOT NULL,
    version integer NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX policy_trials_by_end ON policy_trials (expires_at);

DO $$
DECLARE place name;
BEGIN
    FOREACH place IN ARRAY ARRAY['user_uses', 'inactive_users', 'inactivity_days', 'policy_trials'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', place);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', place);
        EXECUTE format('CREATE POLICY %I ON %I USING (tenant_id = current_tenant())',
            place || '_tenant', place);
        EXECUTE format('CREATE POLICY %I ON %I FOR SELECT TO gatehouse_platform USING (true)',
            place || '_platform', place);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO gatehouse_app', place);
        EXECUTE format('GRANT SELECT ON %I TO gatehouse_platform', place);
    END LOOP;
END $$;
