"""HTTP clients of the two REST APIs on Airflow's port, Airflow's own and Slipway's: the only ones in the project."""
