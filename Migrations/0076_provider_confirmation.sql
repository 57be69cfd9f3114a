-- A pool's id is registered once in the whole server, and a tenant can prove it to nobody. Until the
-- platform confirms it, such a row counts for that tenant's own credentials alone, so that nobody
-- catches another's people by naming their pool first.
ALTER TABLE providers ADD COLUMN confirmed boolean NOT NULL DEFAULT true;
