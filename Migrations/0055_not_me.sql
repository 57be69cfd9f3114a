-- A link in a mail about the account, for whom it was not: it ends the sessions and the password.
ALTER TABLE operator_links
    DROP CONSTRAINT operator_links_purpose_check,
    ADD CONSTRAINT operator_links_purpose_check CHECK (purpose IN ('sign_in', 'password_reset', 'not_me'));
CREATE INDEX operator_links_by_operator ON operator_links (operator_id);
