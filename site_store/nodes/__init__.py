"""Nodes of sites: what is wanted of each, what was done, what is seen of it, what administrators set, and repairs.

What belongs here reads or writes rows of nodes, one site at a time. Which task of an action has a node belongs to
`operations`. The table of nodes that people filter and sort is `node_table`.
"""
