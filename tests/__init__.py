"""Slipway's tests, by level: unit, contract, integration, e2e; and the benchmarks."""
