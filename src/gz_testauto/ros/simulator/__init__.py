"""The ``simulator`` node: a simulator of this package behind the names of gazebo_ros."""
