"""MAAS's API 2.0 over simulated machines; scripts, faults, journal and store are shared with the simulated Drydock."""
