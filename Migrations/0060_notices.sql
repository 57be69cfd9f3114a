-- kind: system. A notice says by its number what a replica has obeyed; what it is about travels
-- with it. A replica that comes back forgets everything and obeys all the recent ones.
ALTER TABLE replicas DROP COLUMN acked;
ALTER TABLE revocations DROP COLUMN kind, DROP COLUMN key;
ALTER TABLE revocations ALTER COLUMN at SET DEFAULT clock_timestamp();
CREATE INDEX revocations_by_time ON revocations (at);
