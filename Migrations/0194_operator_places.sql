-- kind: system. From where an operator's password or link was right before, kept 90 days: tries from
-- there have a counter of their own. account, place: HMACs of the address signed in with and of both.
CREATE TABLE operator_places (
    account bytea NOT NULL,
    place bytea NOT NULL,
    last_at timestamptz NOT NULL,
    PRIMARY KEY (account, place)
);
CREATE INDEX operator_places_by_age ON operator_places (last_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON operator_places TO gatehouse_app;
