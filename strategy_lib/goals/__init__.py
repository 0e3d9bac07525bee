"""What an update has to do to each node: the difference between wanted and done, and the errors of its operations.

What belongs here compares versions of one node, or says how far its newest operation is. How groups and nodes are
ordered, or taken in batches, belongs to `groups`. What is published of a node belongs to `node_states`.
"""
