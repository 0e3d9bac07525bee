"""A real HTTP server process with Airship Drydock's API over a persistent store; no part of Slipway's own work."""
