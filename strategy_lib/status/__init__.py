"""How it stands: the words of the status tree, a row of a node, what a leaf shows, and how statuses roll up.

What belongs here turns facts of the store into one status and one sentence. Which facts are read belongs to the store,
and which entry a page or a terminal draws belongs to them. Start at `words.py`.
"""
