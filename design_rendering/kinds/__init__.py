"""Kinds of documents about machines: Drydock's and Slipway's own, and what they say of nodes."""
