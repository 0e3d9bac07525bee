"""What can be asked for: the kinds of actions and their parameters."""
