"""What is told and counted: the roll-up, owners, reporters, events, the outbox, metrics."""
