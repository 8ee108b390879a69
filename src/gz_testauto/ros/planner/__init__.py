"""The ``planner`` node: a ``move_base`` action server around any local planner."""
