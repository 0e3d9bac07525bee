"""The published view of the nodes: reported, user and generated states, versions, repair. Start at `generated.py`."""
