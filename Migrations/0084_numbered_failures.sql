-- Failed sign-ins are numbered within their tenant, those of wrong passwords apart, so that the oldest beyond the most
-- that are kept are found without a walk over all: the indexes are in 0087. Rows from before have no number, and end by age.
ALTER TABLE failed_sign_ins ADD COLUMN number bigint;
