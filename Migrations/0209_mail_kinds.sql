-- Which kinds of mail there are is the program's to say: each new one would be two changes.
ALTER TABLE mail DROP CONSTRAINT mail_kind_check;
ALTER TABLE mail ADD CONSTRAINT mail_kind_check CHECK (kind ~ '^[a-z_]{1,40}$');
