-- email is the address as the provider told it at the last sign-in; email_vouched, whether it vouched
-- for it there. (email_verified is older: that the identity was proved for its user.)
ALTER TABLE identities ADD COLUMN email_vouched boolean NOT NULL DEFAULT false;
