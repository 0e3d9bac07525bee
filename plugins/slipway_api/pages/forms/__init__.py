"""Forms: each says what it will do, and does it when that is confirmed."""
