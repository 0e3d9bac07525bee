"""The commands that work on files alone: they need neither a server nor a database."""
