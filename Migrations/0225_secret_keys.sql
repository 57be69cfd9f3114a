-- kind: system. The secret keys that texts in this database are sealed with, by name; never the keys.
-- canary: a text sealed with the key, which a wrong key does not open. seals: new texts are sealed
-- with it. A second row is there while a key is being replaced.
CREATE TABLE secret_keys (
    id bytea PRIMARY KEY CHECK (length(id) = 4),
    canary bytea NOT NULL,
    seals boolean NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX secret_keys_one_seals ON secret_keys (seals) WHERE seals;
-- kind: system. Which of the secret keys each running replica knows, and which one it seals with.
CREATE TABLE secret_key_holders (
    replica uuid PRIMARY KEY,
    keys bytea[] NOT NULL,
    sealing bytea NOT NULL,
    seen_at timestamptz NOT NULL
);
GRANT SELECT, INSERT, UPDATE, DELETE ON secret_keys, secret_key_holders TO gatehouse_app;

-- A person's key in the directory is 36 bytes: the name of the secret key and an HMAC. While the
-- secret key is being replaced callers give two of them in one value, the one to write first.
CREATE FUNCTION person_keys(wanted bytea) RETURNS bytea[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, public, pg_temp
    AS $$ SELECT coalesce(array_agg(substring(wanted FROM start FOR 36)), '{}')
          FROM generate_series(1, length(wanted), 36) AS start $$;
CREATE OR REPLACE FUNCTION directory_tenants_of(wanted bytea) RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ SELECT DISTINCT tenant_id FROM directory_people WHERE key = ANY (person_keys(wanted))
          ORDER BY tenant_id $$;
CREATE OR REPLACE FUNCTION directory_add_person(wanted bytea) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ INSERT INTO directory_people SELECT substring(wanted FOR 36), current_tenant()
          WHERE current_tenant() IS NOT NULL ON CONFLICT DO NOTHING $$;
CREATE OR REPLACE FUNCTION directory_remove_person(wanted bytea) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ DELETE FROM directory_people
          WHERE key = ANY (person_keys(wanted)) AND tenant_id = current_tenant() $$;

-- What a change of the secret key does to one tenant's part of the directory.
CREATE FUNCTION directory_add_people(wanted bytea[]) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ INSERT INTO directory_people SELECT substring(key FOR 36), current_tenant()
          FROM unnest(wanted) AS key WHERE current_tenant() IS NOT NULL ON CONFLICT DO NOTHING $$;
CREATE FUNCTION directory_keep_people(ids bytea[]) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ WITH gone AS (DELETE FROM directory_people WHERE tenant_id = current_tenant()
              AND NOT substring(key FOR 4) = ANY (ids) RETURNING 1)
          SELECT count(*) FROM gone $$;
-- How many rows were made with a secret key, up to a bound.
CREATE FUNCTION directory_people_under(id bytea, most bigint) RETURNS bigint
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ SELECT count(*) FROM (SELECT 1 FROM directory_people WHERE key >= id
              AND key < id || decode(repeat('ff', 33), 'hex') LIMIT most) AS found $$;
-- Whether any row was made with another secret key than these.
CREATE FUNCTION directory_people_elsewhere(ids bytea[]) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ SELECT EXISTS (SELECT 1 FROM directory_people
              WHERE NOT substring(key FOR 4) = ANY (ids)) $$;
GRANT EXECUTE ON FUNCTION person_keys(bytea), directory_add_people(bytea[]), directory_keep_people(bytea[]),
    directory_people_under(bytea, bigint), directory_people_elsewhere(bytea[]) TO gatehouse_app;
