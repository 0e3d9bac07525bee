"""The DAGs of Slipway: wiring only."""
