"""The steps by which the database came to its present schema; each stays as it was once released."""
