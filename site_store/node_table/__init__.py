"""Nodes of a site as tables for people: filtered, sorted, in pages; and the past of one."""
