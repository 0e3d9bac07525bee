"""The leader's view of nodes, what administrators set, drifts, and repairs."""
