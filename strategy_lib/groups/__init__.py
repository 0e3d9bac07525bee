"""One group of a deployment: its plan, its run, its rounds, and which nodes wait, are released or stay."""
