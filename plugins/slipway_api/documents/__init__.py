"""Documents of a site: the buffer, commits, revisions, differences."""
