"""MAAS's API over HTTP: signatures, forms, filters, routes, answers."""
