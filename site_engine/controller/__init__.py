"""The controller: one process, and its jobs. What it knows of nodes is `node_states/`."""
