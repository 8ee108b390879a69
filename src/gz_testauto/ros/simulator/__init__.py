"""The ``simulator`` node, which runs a simulator of this package with gazebo_ros's interface."""
