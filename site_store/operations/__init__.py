"""Provisioner tasks: intents, claims on nodes, tasks of nodes, and outcomes.

What belongs here writes the row of an operation, or of a node's phase in an action. How an operation leaves its nodes
is written by `nodes`. When groups are judged belongs to `groups`.
"""
