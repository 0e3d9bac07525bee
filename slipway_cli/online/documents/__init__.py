"""Commands for the documents of a site."""
