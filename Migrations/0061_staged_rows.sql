-- A check of each row against its import or job took as much time as storing the row, and more. The statements that
-- write them lock the import or the job, its removal deletes its rows first, and the purge of a tenant all of them.
ALTER TABLE import_rows DROP CONSTRAINT import_rows_tenant_id_import_id_fkey;
ALTER TABLE import_keys DROP CONSTRAINT import_keys_tenant_id_import_id_fkey;
ALTER TABLE job_rows DROP CONSTRAINT job_rows_tenant_id_job_id_fkey;
