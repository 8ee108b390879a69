"""The ``simulator`` node, which runs a simulator of this package with the interface of
gazebo_ros."""
