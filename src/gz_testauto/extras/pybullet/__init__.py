"""The simulator ``pybullet``: Bullet in this process, through PyBullet, where wheels drive by
friction."""

from gz_testauto.extras.pybullet.simulator import PyBulletSimulator

__all__ = ["PyBulletSimulator"]
