"""Notifications on their way out."""
