"""Groups of an action: the plan, their attempts, what they wait for, and the report.

What belongs here writes the row of a group, or reads what a report is made of. Tasks of a group's nodes belong to
`operations`. How groups stand belongs to `trees`.
"""
