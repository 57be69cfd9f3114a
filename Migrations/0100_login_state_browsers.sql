-- What a browser has to bring back in a cookie: a hash of a secret that stands in no address. NULL
-- where the app itself catches the redirect, or holds the PKCE verifier.
ALTER TABLE login_states ADD COLUMN browser_hash bytea;
