-- A link that an operator handed over: it also sets the first password of a user who has none.
ALTER TABLE password_resets ADD COLUMN by_operator boolean NOT NULL DEFAULT false;
