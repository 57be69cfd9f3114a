-- kind: tenant. When an invite was sent last; NULL: at its creation.
ALTER TABLE invites ADD COLUMN sent_at timestamptz;
