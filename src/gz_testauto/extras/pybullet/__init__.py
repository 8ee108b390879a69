"""The simulator ``pybullet``, which runs Bullet in this process through PyBullet. Wheels move the
robot by friction."""

from gz_testauto.extras.pybullet.simulator import PyBulletSimulator

__all__ = ["PyBulletSimulator"]
