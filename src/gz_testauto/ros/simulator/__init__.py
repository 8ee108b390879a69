"""The ``simulator`` node: a simulator of this package with the interface of gazebo_ros."""
