"""What is told and measured: metrics, notifications, owners."""
