"""Pictures on the pages: the graph of groups, bars of statuses, the timeline."""
