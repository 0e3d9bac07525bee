"""Deckhand's rules: layers, replacement, substitution, and the order of rendering."""
