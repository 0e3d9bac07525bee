"""Tasks of Ironic: a mark on each node, and what is due of it."""
