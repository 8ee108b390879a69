"""Trials: their order, their running, their recording and their storage."""
