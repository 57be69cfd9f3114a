-- kind: system. The `sub` that a pool gave to a user whose address is not proved yet: the id token
-- that proves it may name the user by it.
ALTER TABLE reservations ADD COLUMN alias text;
CREATE INDEX reservations_by_alias ON reservations (provider, issuer, alias)
    WHERE alias IS NOT NULL;
