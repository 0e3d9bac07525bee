"""HTTP clients of the two REST APIs on Airflow's port, Airflow's own and Slipway's: the only ones in the project.

Here belong requests, tokens and the errors of a connection, in words.
What an answer looks like on a terminal is in `slipway_cli`, and what a route answers in `slipway_api`.
"""
