-- kind: system. What is limited by the minute, counted for all replicas together. key: an HMAC, so
-- that a dump names nobody; minute: when the counted minute began.
CREATE TABLE minute_counts (
    key bytea PRIMARY KEY,
    minute timestamptz NOT NULL,
    count integer NOT NULL
);
CREATE INDEX minute_counts_by_age ON minute_counts (minute);

GRANT SELECT, INSERT, UPDATE, DELETE ON minute_counts TO gatehouse_app;
