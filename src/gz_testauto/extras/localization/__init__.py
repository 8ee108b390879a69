"""Simulated localization with errors: wheel odometry that drifts, and a localizer that corrects
it."""
