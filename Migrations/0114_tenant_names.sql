-- The list of tenants goes by name too; letters of every script, as for keys.
ALTER TABLE tenants ADD COLUMN name_key text NOT NULL
    GENERATED ALWAYS AS (lower(name COLLATE "und-x-icu")) STORED;
CREATE INDEX tenants_by_name ON tenants (name_key, id);
