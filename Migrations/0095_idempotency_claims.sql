-- Whose claim a row is: a request that was taken over for dead keeps nothing afterwards.
ALTER TABLE idempotency ADD COLUMN claim uuid;
