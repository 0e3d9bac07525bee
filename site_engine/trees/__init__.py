"""Status trees: what is shown of the facts that the store keeps (rules 27 to 36). Start at `status_trees.py`."""
