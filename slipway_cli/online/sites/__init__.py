"""Commands for sites and their nodes."""
