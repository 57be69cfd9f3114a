-- kind: system. When a lease ends is told by the clock of the server that granted it, known by its
-- start: after a failover the row is there, but the clock is another machine's.
ALTER TABLE replicas ADD COLUMN server timestamptz NOT NULL DEFAULT pg_postmaster_start_time();
