"""How the store speaks to its database: transactions, schema, and what PostgreSQL has for statements of any size."""
