"""YAML in and out, with lines; nested data; what is found wrong."""
