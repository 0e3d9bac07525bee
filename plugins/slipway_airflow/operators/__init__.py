"""One operator for each task of Slipway's DAGs."""
