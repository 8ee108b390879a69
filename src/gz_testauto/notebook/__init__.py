"""Run campaigns and read their results in notebooks and scripts."""
