-- The roles that Gatehouse uses. A superuser creates them once: psql -f deploy/install/roles.sql
--   gatehouse_owner     owns the schema; `gatehouse migrate`
--   gatehouse_app       serves requests; owns nothing; row-level security limits it to one tenant
--   gatehouse_platform  reads across tenants; the app's role may switch to it, but inherits nothing from it
--   gatehouse_backup    reads every row of every tenant, for pg_dump; set its password only where
--                       backups run
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'gatehouse_owner') THEN
        CREATE ROLE gatehouse_owner LOGIN;
        CREATE ROLE gatehouse_app LOGIN NOINHERIT NOBYPASSRLS;
        CREATE ROLE gatehouse_platform LOGIN NOBYPASSRLS;
        GRANT gatehouse_platform TO gatehouse_app;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'gatehouse_backup') THEN
        -- Under row-level security a dump would have no rows.
        CREATE ROLE gatehouse_backup LOGIN BYPASSRLS IN ROLE pg_read_all_data;
    END IF;
END $$;
