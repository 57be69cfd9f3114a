-- A customer's own facts about a user, each one JSON object without white space: text, so that numbers and the order
-- of members stay as written. No rule reads them.
ALTER TABLE users
    ADD COLUMN public_attributes text NOT NULL DEFAULT '{}' CHECK (octet_length(public_attributes) <= 16384),
    ADD COLUMN private_attributes text NOT NULL DEFAULT '{}' CHECK (octet_length(private_attributes) <= 16384);
