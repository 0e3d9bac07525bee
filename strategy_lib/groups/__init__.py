"""How one group of a deployment goes: its plan, its run, its batches, and which nodes wait, are released or stay.

What belongs here decides for the nodes of one group, and in which order nodes go. How several groups go side by side
belongs to `deployment.py` and `simulation.py`. What is wanted of a node belongs to `goals`.
"""
