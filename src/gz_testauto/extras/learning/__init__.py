"""Campaigns as reinforcement learning environments, and the training of policies (pip extra
``learning``)."""
