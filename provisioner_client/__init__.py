"""Clients of provisioners (Airship Drydock, MAAS) behind one small protocol, and a simulator."""
