"""The only code that knows SQL: tables, migrations, versioned writes, queries."""
