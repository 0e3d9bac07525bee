"""Where boxes and edges of the group graph are drawn.

What belongs here is geometry: numbers from names and edges. Colours, texts and SVG belong to the pages. In which order
groups run belongs to `ordering.py`.
"""
