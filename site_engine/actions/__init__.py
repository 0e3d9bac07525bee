"""Actions, from their first step to their report: steps, retry, and those whose run is over or gone."""
