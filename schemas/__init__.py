"""JSON Schemas of every Slipway document, shipped as data."""
