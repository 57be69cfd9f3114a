-- kind: tenant. A page of people looks up each one's sign-ins: whose rows are open is asked once for
-- the statement, not once for each person, which took a list some 5 % of the database's time.
ALTER POLICY identities_tenant ON identities USING (tenant_id = (SELECT current_tenant()));
