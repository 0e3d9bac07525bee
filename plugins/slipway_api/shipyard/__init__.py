"""What only Airship Shipyard's clients ask for."""
