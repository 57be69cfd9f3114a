-- kind: system. The client's secret at the provider, sealed with the provider's id as context.
ALTER TABLE providers ADD COLUMN secret bytea;
