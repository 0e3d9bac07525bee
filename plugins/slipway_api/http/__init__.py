"""What all routes share: errors, bodies, paging, the description."""
