"""Sites and what their provisioner says."""
