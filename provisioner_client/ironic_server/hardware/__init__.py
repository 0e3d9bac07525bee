"""What runs in Ironic's environment, where this folder is on the path: its modules are found without this package."""
