"""Actions: creating, describing, controlling them."""
