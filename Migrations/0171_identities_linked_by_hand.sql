-- kind: tenant. Who linked a sign-in by hand, an operator or a key; NULL: a rule or the person did.
ALTER TABLE identities ADD COLUMN linked_by_type text, ADD COLUMN linked_by_id text;
