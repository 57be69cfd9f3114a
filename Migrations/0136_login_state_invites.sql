-- The hash of the invite's token that the browser's person holds, where they began on its page: the
-- token itself goes nowhere. NULL where no invite came along.
ALTER TABLE login_states ADD COLUMN invite_hash bytea;
