"""A real, unmodified OpenStack Ironic for demos and tests, in an environment of its own, with pretended hardware.

`python -m provisioner_client.ironic_server` installs it once, makes its database, and becomes it.
"""
