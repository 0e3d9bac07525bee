"""Batches within a group (rules 40 and 59)."""
