"""How it stands: the words of the status tree, what a leaf shows, and how statuses roll up. Start at `words.py`."""
