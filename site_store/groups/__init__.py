"""Groups of an action: the plan, their attempts, and who may be at work beside whom."""
