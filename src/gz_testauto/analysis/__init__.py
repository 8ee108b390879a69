"""Statistics of campaigns: rates with intervals, and comparisons of planners world by world."""
