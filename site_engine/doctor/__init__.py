"""`slipway doctor`: what it knows (`facts.py`), and what is wrong by that. Pure; the command gathers the facts."""
