"""What nodes say of themselves: the program that runs on a node, and the asking of many."""
