"""How the store speaks to its database: transactions, schema, rows as values, and statements of any size.

What belongs here knows no table of its own. Tables belong to `tables`, and the steps to their schema to `migrations`.
What a statement means belongs to the package of its noun.
"""
