"""Campaigns as learning environments, and the training of policies (extra ``rl``)."""
