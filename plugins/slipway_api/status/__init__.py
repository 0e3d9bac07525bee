"""How it stands: the status trees of sites and actions, nodes, owners, reporters."""
