-- kind: tenant. Origins that were refused in an hour, for the console: whoever can send a request causes a row, so an
-- hour has at most 100 of a tenant. paths: templates of the paths that were asked for, at most three.
CREATE TABLE refused_origins (
    tenant_id uuid NOT NULL,
    hour timestamptz NOT NULL,
    origin text NOT NULL,
    count bigint NOT NULL,
    first_seen timestamptz NOT NULL,
    last_seen timestamptz NOT NULL,
    paths text[] NOT NULL,
    PRIMARY KEY (tenant_id, hour, origin)
);
CREATE INDEX refused_origins_by_hour ON refused_origins (hour);

ALTER TABLE refused_origins ENABLE ROW LEVEL SECURITY;
ALTER TABLE refused_origins FORCE ROW LEVEL SECURITY;
CREATE POLICY refused_origins_tenant ON refused_origins USING (tenant_id = current_tenant());
CREATE POLICY refused_origins_platform ON refused_origins FOR SELECT TO gatehouse_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON refused_origins TO gatehouse_app;
GRANT SELECT ON refused_origins TO gatehouse_platform;
