"""What is told and counted: the roll-up, owners, leases, reporters, events, the outbox, metrics.

What belongs here is written beside the rows of all other nouns, and knows none of their packages. What trees are
judged from belongs to `trees`. How it is judged belongs to `site_engine`.
"""
