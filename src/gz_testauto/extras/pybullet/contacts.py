"""Contacts of a robot's body in the last physics step of Bullet."""

from typing import Any, Dict, FrozenSet, List, Mapping, Sequence, Tuple

from gz_testauto.base.observation import Contact
from gz_testauto.extras.pybullet.multibody import Key

Vector = Tuple[float, float, float]


def contacts_of(
    client: Any,
    bodies: Sequence[int],
    own: FrozenSet[Key],
    names: Mapping[Key, str],
    stamp_s: float,
) -> List[Contact]:
    """Return a contact for each pair of collisions of which the first is one of ``own``, links of
    ``bodies``; ``names`` has the collisions of the links of all bodies."""
    found: Dict[Tuple[str, str], List[Tuple[Vector, Vector, float, Vector]]] = {}
    for body in bodies:
        for hit in client.getContactPoints(bodyA=body):
            if hit[8] > 0.0:
                continue
            first, second = (hit[1], hit[3]), (hit[2], hit[4])
            normal, at, sign = hit[7], hit[5], 1.0
            if first not in own:
                if second not in own:
                    continue
                first, second, at, sign = second, first, hit[6], -1.0
            pair = (names[first], names[second])
            force = tuple(
                sign * (hit[9] * n + hit[10] * one + hit[12] * other)
                for n, one, other in zip(normal, hit[11], hit[13])
            )
            turned = tuple(sign * value for value in normal)
            found.setdefault(pair, []).append((at, turned, -hit[8], force))  # type: ignore[arg-type]
    return [
        Contact(
            stamp_s=stamp_s,
            first=first,
            second=second,
            positions_m=tuple(point[0] for point in points),
            normals=tuple(point[1] for point in points),
            depths_m=tuple(point[2] for point in points),
            forces_n=tuple(point[3] for point in points),
        )
        for (first, second), points in found.items()
    ]
