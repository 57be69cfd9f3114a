-- What became of an invite's mail. NULL: the invite goes by link, or its mail is older than this file.
-- mail_id is the mail that it is told of: what is learned of an older one changes nothing. delivery_detail has the
-- words of a mail server, in which an address may stand.
ALTER TABLE invites
    ADD COLUMN mail_id uuid,
    ADD COLUMN delivery_status text CHECK (delivery_status IN ('queued', 'sent', 'refused', 'bounced')),
    ADD COLUMN delivery_detail text CHECK (octet_length(delivery_detail) <= 2048);
CREATE INDEX invites_by_delivery ON invites (tenant_id, delivery_status, created_at, id)
    WHERE delivery_status IS NOT NULL;
-- For the purge of a user.
CREATE INDEX invites_with_words ON invites (tenant_id, id) WHERE delivery_detail IS NOT NULL;

-- The part of the mail's return address that nobody can guess: a report that was sent there is about this mail.
-- It gives no right. NULL: no report is expected.
ALTER TABLE mail ADD COLUMN return_token text;
CREATE UNIQUE INDEX mail_by_return_token ON mail (tenant_id, return_token) WHERE return_token IS NOT NULL;
