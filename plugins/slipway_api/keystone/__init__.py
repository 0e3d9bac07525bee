"""A token in the way of Keystone, for Shipyard's clients; logging in."""
