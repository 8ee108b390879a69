"""Campaigns as reinforcement learning environments, and training (pip extra ``learning``)."""
