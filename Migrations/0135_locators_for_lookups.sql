-- The look-ups of keys begin with whose a locator is.
GRANT EXECUTE ON FUNCTION directory_tenant_by_locator(text) TO gatehouse_platform;
