"""OpenStack Ironic as a provisioner."""
