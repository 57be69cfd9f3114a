-- Login states that have ended are found over every tenant by their end.
CREATE INDEX login_states_ended ON login_states (expires_at);
