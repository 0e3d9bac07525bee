"""MAAS itself as a provisioner, over its API 2.0."""
