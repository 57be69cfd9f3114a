-- kind: tenant. Work on many rows that goes on after its request was answered: bulk actions, imports. One runner
-- at a time has a job: it counts `fence` up when it takes it, and commits nothing once another has counted further.
-- due_at: when a runner may take it; while one has it, the end of its lease. position: the last row that was
-- handled, while undoing the lowest. actor_*: whose rights are asked at each batch; actor_home: the tenant whose
-- credential it is, NULL is the platform. kept_until: when job and rows are deleted.
CREATE TABLE jobs (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    kind text NOT NULL,
    status text NOT NULL DEFAULT 'queued'
        CHECK (status IN ('queued', 'running', 'paused', 'cancelled', 'done', 'failed', 'undone')),
    dry_run boolean NOT NULL DEFAULT false,
    is_undoing boolean NOT NULL DEFAULT false,
    total bigint,
    done bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,
    undone bigint NOT NULL DEFAULT 0,
    kept bigint NOT NULL DEFAULT 0,
    parameters jsonb NOT NULL,
    state jsonb,
    position bigint NOT NULL DEFAULT 0,
    reason text,
    attempts integer NOT NULL DEFAULT 0,
    created_by_type text NOT NULL,
    created_by_id text NOT NULL,
    created_by_name text NOT NULL,
    actor_type text NOT NULL,
    actor_id text NOT NULL,
    actor_name text NOT NULL,
    actor_home uuid,
    fence bigint NOT NULL DEFAULT 0,
    due_at timestamptz,
    worked_us bigint NOT NULL DEFAULT 0,
    version bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    started_at timestamptz,
    finished_at timestamptz,
    undo_until timestamptz,
    kept_until timestamptz,
    PRIMARY KEY (tenant_id, id)
);
-- One running job of a tenant, whatever runners do at the same moment.
CREATE UNIQUE INDEX jobs_running ON jobs (tenant_id) WHERE status = 'running';
CREATE INDEX jobs_due ON jobs (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX jobs_held ON jobs (tenant_id) WHERE status = 'paused' AND reason = 'tenant_suspended';
CREATE INDEX jobs_by_tenant ON jobs (tenant_id, created_at, id);
CREATE INDEX jobs_by_age ON jobs (created_at, id);
CREATE INDEX jobs_past ON jobs (kept_until) WHERE kept_until IS NOT NULL;

-- kind: tenant. The rows of a job, by their number: what waits, and what became of it. input: what is asked, until the
-- row is handled or the job ends; email_key: whom it names. effect: what an undo needs.
CREATE TABLE job_rows (
    tenant_id uuid NOT NULL,
    job_id uuid NOT NULL,
    row bigint NOT NULL,
    status text NOT NULL
        CHECK (status IN ('waiting', 'done', 'unchanged', 'failed', 'undone', 'kept')),
    code text,
    detail text,
    target_type text,
    target_id uuid,
    input jsonb,
    email_key text,
    effect jsonb,
    PRIMARY KEY (tenant_id, job_id, row),
    FOREIGN KEY (tenant_id, job_id) REFERENCES jobs (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX job_rows_by_target ON job_rows (tenant_id, target_id) WHERE effect IS NOT NULL;
CREATE INDEX job_rows_by_person ON job_rows (tenant_id, email_key) WHERE email_key IS NOT NULL;

DO $$
DECLARE place name;
BEGIN
    FOREACH place IN ARRAY ARRAY['jobs', 'job_rows'] LOOP
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
