"""Campaigns as environments for learning, and the training of policies (extra ``rl``)."""
