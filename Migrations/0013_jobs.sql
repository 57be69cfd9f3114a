-- A job is work on many rows that goes on after its request was answered: a bulk action or an import of users.

-- kind: tenant. One runner at a time has a job. It increases `fence` when it takes the job, and commits nothing once
-- another runner has increased it further.
CREATE TABLE jobs (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    kind text NOT NULL,
    status text NOT NULL DEFAULT 'queued'
        CHECK (status IN ('queued', 'running', 'paused', 'cancelled', 'done', 'failed', 'undone')),
    -- Why the job is paused or failed.
    reason text,
    dry_run boolean NOT NULL DEFAULT false,
    is_undoing boolean NOT NULL DEFAULT false,
    parameters jsonb NOT NULL,
    state jsonb,
    -- The last row that was handled; while the job is undone, the lowest.
    position bigint NOT NULL DEFAULT 0,
    total bigint,
    done bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,
    undone bigint NOT NULL DEFAULT 0,
    kept bigint NOT NULL DEFAULT 0,
    created_by_type text NOT NULL,
    created_by_id text NOT NULL,
    created_by_name text NOT NULL,
    -- Whose rights are asked at each batch. actor_home: the tenant whose credential it is; NULL: the platform's.
    actor_type text NOT NULL,
    actor_id text NOT NULL,
    actor_name text NOT NULL,
    actor_home uuid,
    fence bigint NOT NULL DEFAULT 0,
    attempts integer NOT NULL DEFAULT 0,
    -- When a runner may take the job. While a runner has it: when the runner's lease ends.
    due_at timestamptz,
    worked_us bigint NOT NULL DEFAULT 0,
    version bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    started_at timestamptz,
    finished_at timestamptz,
    undo_until timestamptz,
    -- When the job and its rows are deleted.
    kept_until timestamptz,
    PRIMARY KEY (tenant_id, id)
);
-- A tenant has one running job, whatever runners do at the same moment.
CREATE UNIQUE INDEX jobs_running ON jobs (tenant_id) WHERE status = 'running';
CREATE INDEX jobs_due ON jobs (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX jobs_held ON jobs (tenant_id) WHERE status = 'paused' AND reason = 'tenant_suspended';
CREATE INDEX jobs_by_tenant ON jobs (tenant_id, created_at, id);
CREATE INDEX jobs_by_age ON jobs (created_at, id);
CREATE INDEX jobs_by_kind ON jobs (tenant_id, kind, status);
CREATE INDEX jobs_by_maker ON jobs (tenant_id, created_by_id);
CREATE INDEX jobs_by_actor ON jobs (tenant_id, actor_id);
CREATE INDEX jobs_by_id ON jobs ((id::text));
CREATE INDEX jobs_past ON jobs (kept_until) WHERE kept_until IS NOT NULL;
SELECT protect('jobs');

-- kind: tenant. The rows of a job by their number: what waits, and what became of it. No foreign key refers to the job,
-- because its check took as long as storing the row. The statements that write rows lock the job, and its removal
-- deletes the rows first. The tables of an import do the same.
CREATE TABLE job_rows (
    tenant_id uuid NOT NULL,
    job_id uuid NOT NULL,
    row bigint NOT NULL,
    status text NOT NULL CHECK (status IN ('waiting', 'done', 'unchanged', 'failed', 'undone', 'kept')),
    code text,
    detail text,
    target_type text,
    target_id uuid,
    -- What is asked, until the row is handled or the job ends.
    input jsonb,
    -- The address of the person whom the row is about.
    email_key text,
    -- The row's external id, which another user or another row has; the row's address is target_id's.
    external_id text,
    -- What an undo needs.
    effect jsonb,
    PRIMARY KEY (tenant_id, job_id, row)
);
CREATE INDEX job_rows_by_target ON job_rows (tenant_id, target_id) WHERE effect IS NOT NULL;
CREATE INDEX job_rows_by_thing ON job_rows (tenant_id, target_id);
CREATE INDEX job_rows_by_person ON job_rows (tenant_id, email_key) WHERE email_key IS NOT NULL;
CREATE INDEX job_rows_by_external_id ON job_rows (tenant_id, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX job_rows_contested ON job_rows (tenant_id, target_id) WHERE external_id IS NOT NULL;
SELECT protect('job_rows');

-- kind: tenant. An upload of users. Its rows wait here until its job ends. expires_at: when an upload that broke off is
-- removed; NULL: the upload has a job.
CREATE TABLE imports (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    job_id uuid,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX imports_broken_off ON imports (expires_at) WHERE expires_at IS NOT NULL;
SELECT protect('imports');

-- kind: tenant. document: the user as JSON, with the hash of a password, until the person is purged. NULL: the row
-- cannot be imported, for the reason in `code`.
CREATE TABLE import_rows (
    tenant_id uuid NOT NULL,
    import_id uuid NOT NULL,
    row bigint NOT NULL,
    email_key text,
    document text,
    code text,
    detail text,
    PRIMARY KEY (tenant_id, import_id, row)
);
CREATE INDEX import_rows_by_person ON import_rows (tenant_id, email_key) WHERE email_key IS NOT NULL;
SELECT protect('import_rows');

-- kind: tenant. What no two rows of one import may share: addresses, external ids and identities, each as the first
-- 8 bytes of a hash.
CREATE TABLE import_keys (
    tenant_id uuid NOT NULL,
    import_id uuid NOT NULL,
    key bigint NOT NULL,
    row bigint NOT NULL,
    PRIMARY KEY (tenant_id, import_id, key, row)
);
SELECT protect('import_keys');
