-- A function that runs with its owner's rights names pg_temp last. Otherwise PostgreSQL looks there first, and a
-- temporary table of the caller's, with a trigger on it, would run the caller's code with the owner's rights.
ALTER FUNCTION decisions_remove(uuid, timestamptz, bigint) SET search_path = pg_catalog, public, pg_temp;
