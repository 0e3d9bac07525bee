"""The states of nodes: the published view, one node, what administrators set."""
