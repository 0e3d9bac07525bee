"""Driving towards what is wanted: differences, order of nodes, retries, errors, batches. Start at `update.py`."""
