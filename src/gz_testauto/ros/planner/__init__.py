"""The ``planner`` node, a ``move_base`` action server with any local planner."""
