"""What a terminal shows: tables, trees, progress. Most of it pure."""
