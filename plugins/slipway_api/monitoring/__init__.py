"""What others ask to see how Slipway is."""
