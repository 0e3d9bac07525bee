"""Groups: whose turn it is, one attempt of a group, its pause, approvals, releases and retry."""
