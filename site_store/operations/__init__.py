"""Provisioner tasks: intents, claims on nodes, tasks of nodes, and outcomes."""
