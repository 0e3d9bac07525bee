"""Where boxes and edges of the group graph are drawn. Geometry only: no colours, no names of things, no SVG."""
