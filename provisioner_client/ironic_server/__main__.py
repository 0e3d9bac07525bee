"""`python -m provisioner_client.ironic_server`."""

from provisioner_client.ironic_server.program import main

main()
