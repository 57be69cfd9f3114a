-- kind: tenant. What came in with the attempt besides the person, so that the rules can be asked again:
-- no token, no address, no claim but whether the address was said to be verified.
ALTER TABLE decisions ADD COLUMN attempt jsonb;
