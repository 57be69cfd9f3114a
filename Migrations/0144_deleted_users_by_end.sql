-- Who can be restored no longer is found by the deletion's time, so that a sweep reads no more than
-- it purges.
CREATE INDEX users_by_deletion ON users (deleted_at) WHERE status = 'deleted';
