-- kind: system. Browsers in which a sign-in of the operator succeeded, kept for 90 days: tries from there have counters
-- of their own, so that nobody is shut out by others' tries. device_hash: the SHA-256 of a cookie.
CREATE TABLE operator_devices (
    operator_id uuid NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
    device_hash bytea NOT NULL CHECK (octet_length(device_hash) = 32),
    last_at timestamptz NOT NULL,
    PRIMARY KEY (operator_id, device_hash)
);
CREATE INDEX operator_devices_by_device ON operator_devices (device_hash);
CREATE INDEX operator_devices_by_age ON operator_devices (last_at);

GRANT SELECT, INSERT, UPDATE, DELETE ON operator_devices TO gatehouse_app;

-- Devices stand in for the networks of operator_places, whose rows end by themselves.
