"""The published view of the nodes: reported, user and generated states, versions, drift, repair.

What belongs here judges what is seen of a node beside actions. How a node of an action stands belongs to `status`.
Start at `generated.py`.
"""
