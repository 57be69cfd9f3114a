-- When all of a user's sessions were ended: providers' tokens from before it are refused.
ALTER TABLE users ADD COLUMN signed_out_at timestamptz;
