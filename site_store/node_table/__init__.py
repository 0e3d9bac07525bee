"""Nodes of a site as tables for people: filtered, sorted, in pages; and the past of one.

What belongs here makes statements for pages of 100,000 nodes. It writes nothing. Single rows of nodes belong to
`nodes`.
"""
