-- The roles that Gatehouse works by, made once by a superuser: psql -f deploy/roles.sql
--   gatehouse_owner     owns the schema; `gatehouse migrate`
--   gatehouse_app       serves requests; owns nothing, and row-level security holds it to one tenant
--   gatehouse_platform  reads across tenants; the app's role becomes it, but inherits nothing from it
--   gatehouse_backup    reads every row of every tenant, for pg_dump; give it a password only where
--                       backups are taken
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'gatehouse_owner') THEN
        CREATE ROLE gatehouse_owner LOGIN;
        CREATE ROLE gatehouse_app LOGIN NOINHERIT NOBYPASSRLS;
        CREATE ROLE gatehouse_platform LOGIN NOBYPASSRLS;
        GRANT gatehouse_platform TO gatehouse_app;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'gatehouse_backup') THEN
        -- Row-level security would leave a dump without rows.
        CREATE ROLE gatehouse_backup LOGIN BYPASSRLS IN ROLE pg_read_all_data;
    END IF;
END $$;
