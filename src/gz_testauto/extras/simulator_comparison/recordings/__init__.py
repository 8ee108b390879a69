"""Recordings of IMU, odometry, wheels and commands with a common clock, from files or
simulators."""
