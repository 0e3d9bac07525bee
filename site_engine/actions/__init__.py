"""What can be asked for: the kinds of actions. Pure, and cheap to import: the command line reads it too."""
