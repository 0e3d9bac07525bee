"""What is wanted: buffers, revisions and their documents, and the objects that a design consists of."""
