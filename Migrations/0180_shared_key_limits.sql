-- A key that a limited key made counts its uses together with its maker's: the key whose count it is.
ALTER TABLE api_keys ADD COLUMN limit_shared_with uuid;
