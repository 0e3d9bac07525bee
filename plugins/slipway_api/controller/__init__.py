"""What the controller asks of the API server, which knows the sites' connections; and the switches of repair."""
