"""Recordings of IMU, odometry, wheels and commands on one clock, from files or simulators."""
