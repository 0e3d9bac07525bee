"""The server that commands talk to: which one, its tokens, requests, and what all online commands share."""
