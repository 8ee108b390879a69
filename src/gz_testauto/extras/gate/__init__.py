"""A gate for continuous integration, and a calculation of the number of worlds that it needs.

Verbs ``gate`` and ``power``, and the node ``gate`` for rostest.
"""
