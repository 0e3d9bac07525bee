"""The report of an action: values, changes of a dry run, text.

What belongs here says what an action has done once it is over. What it is doing belongs to `status`. Where reports are
kept belongs to the store.
"""
