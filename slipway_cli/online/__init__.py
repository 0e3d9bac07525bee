"""The commands that talk to a Slipway server: its REST API below `/slipway` on Airflow's port."""
