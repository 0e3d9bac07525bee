"""The report of an action: values, changes of a dry run, text."""
