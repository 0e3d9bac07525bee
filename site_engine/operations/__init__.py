"""Provisioner tasks: submitting each once, waiting for it, and finding out what became of it."""
