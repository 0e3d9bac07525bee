"""What is to be done: differences, plans of actions and sites, rehearsals."""
