"""Requests and answers: the server, its two APIs, and faults played on purpose."""
