-- kind: system. A choice that the person declined is not offered again, unless an invite is sent anew.
ALTER TABLE pending_choices ADD COLUMN declined_at timestamptz;
