-- A claim is committed with the user who has the id, on the tenant's server.
SELECT citus_add_local_table_to_metadata('directory_claimed_ids');
