"""Bullet as a simulator in this process, through PyBullet: wheels drive by friction."""

from gz_testauto.extras.pybullet.simulator import PyBulletSimulator

__all__ = ["PyBulletSimulator"]
