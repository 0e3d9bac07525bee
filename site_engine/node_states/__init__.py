"""The view of each site's nodes: who leads, looks, judges and publishes. Start at `leader.py`."""
