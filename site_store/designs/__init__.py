"""What is wanted: buffers, revisions and their documents, and the objects that a design consists of.

What belongs here is written by posts and commits alone. What a commit wants of a node is a column of `nodes`. How
documents are read and rendered belongs to `design_rendering`.
"""
