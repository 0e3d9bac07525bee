"""Actions: requests, steps, approvals, reports, and the lock of a site."""
