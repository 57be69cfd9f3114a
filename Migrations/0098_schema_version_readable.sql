-- `gatehouse check` tells by the app role whether the schema is the program's.
GRANT SELECT ON schema_migrations TO gatehouse_app;
