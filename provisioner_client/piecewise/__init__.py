"""What backends share that do a task piece by piece, node by node."""
