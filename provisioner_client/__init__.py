"""What is said to a provisioner, and what it answers: one protocol, a backend for each, and a simulator.

Here belong requests, sessions, proofs of what a machine is, and the redaction of all that a provisioner says.
Whether a node is sent at all is decided above, in `site_engine`.
Nothing here knows a store, an action or a group.
"""
