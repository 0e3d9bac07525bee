"""`python -m provisioner_client.simulator`."""

from provisioner_client.simulator.cli import main

main()
