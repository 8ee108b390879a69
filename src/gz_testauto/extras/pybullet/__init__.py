"""Bullet behind the simulator interface, by PyBullet: wheels that drive by friction."""

from gz_testauto.extras.pybullet.simulator import PyBulletSimulator

__all__ = ["PyBulletSimulator"]
