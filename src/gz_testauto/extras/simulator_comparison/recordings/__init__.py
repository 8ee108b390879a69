"""Drives that were recorded: IMU, odometry, wheels and commands on one clock, from files or from a
simulator."""
