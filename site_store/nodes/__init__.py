"""Nodes of sites: what is wanted of each, what was done, and how its newest operation left it."""
