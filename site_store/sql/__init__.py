"""How the store speaks to its database: transactions, schema, and what the two databases spell differently."""
