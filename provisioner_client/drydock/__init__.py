"""The provisioner Airship Drydock, by its REST API."""
