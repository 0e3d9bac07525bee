"""What status trees are judged from: statements, rows and facts."""
