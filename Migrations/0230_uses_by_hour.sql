-- Beside the verifications that were asked for: how often keys were used in any way in the hour.
ALTER TABLE verification_counts ADD COLUMN uses bigint NOT NULL DEFAULT 0;
