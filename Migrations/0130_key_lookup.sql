-- Keys are looked up by two plain statements of the platform role, which cost a third of this.
DROP FUNCTION api_key_by_secret(text, bytea);
