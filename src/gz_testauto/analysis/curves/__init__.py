"""Curves through what a campaign found."""
