"""Commands for actions: start, watch, control, report."""
