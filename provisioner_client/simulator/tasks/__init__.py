"""Tasks: accepting one, planning what becomes of its nodes, carrying it out, and showing it."""
