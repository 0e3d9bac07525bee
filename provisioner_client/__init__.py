"""Clients of provisioners (Airship Drydock) behind one small protocol, and a simulator."""
