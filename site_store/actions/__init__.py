"""Actions: requests, steps, approvals, requests for nodes, and the lock of a site.

What belongs here writes the row of an action and of its steps, or ends one. Groups of an action belong to `groups`,
its provisioner tasks to `operations`.
"""
