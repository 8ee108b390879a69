"""Simulators driven for a comparison: in which order, in processes of their own, what that costs,
and how it is kept on disk and continued."""
