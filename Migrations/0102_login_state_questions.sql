-- When a provider was last asked whether the person has decided: no more often than it allows,
-- however many ask, and on however many replicas.
ALTER TABLE login_states ADD COLUMN asked_at timestamptz;
