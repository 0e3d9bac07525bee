"""Objects and digests of a design, and what differs between two."""
