"""The charting library uPlot with its license, which the page contains."""
