"""Subjects that the core does not need, one a folder. The core imports none of them."""
