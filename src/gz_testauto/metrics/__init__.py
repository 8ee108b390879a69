"""Metrics: functions that compute a number from the recording of a trial."""
