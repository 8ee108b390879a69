"""Features of worlds that make a planner fail: a logistic regression and a small tree."""
