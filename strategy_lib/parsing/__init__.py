"""Reading strategy, list of nodes, configuration, settings and notifications from plain data.

What belongs here names every problem of such data at once, with its path. The values that it makes belong to the
modules that use them. Documents and their lines belong to `design_rendering`.
"""
