"""Functions that return SDF text of small models and worlds, in styles of public collections."""

LINK = (
    '<link name="{name}">{pose}'
    '<collision name="c">{pose_c}<geometry>{shape}</geometry></collision>'
    '<visual name="v">{pose_c}<geometry>{shape}</geometry></visual></link>'
)
BOX = "<box><size>1 2 3</size></box>"


def link(name="link", pose="", shape=BOX, collision_pose=""):
    """Return a link with one collision and one visual of the same shape."""
    return LINK.format(name=name, pose=_pose(pose), shape=shape, pose_c=_pose(collision_pose))


def model(name, *parts, pose="", static=True):
    """Return a model of these parts (default: one box link)."""
    body = "".join(parts) or link()
    return f'<model name="{name}"><static>{str(static).lower()}</static>{_pose(pose)}{body}</model>'


def include(uri, name="", pose="", extra=""):
    """Return an ``<include>``."""
    named = f"<name>{name}</name>" if name else ""
    return f"<include><uri>{uri}</uri>{named}{_pose(pose)}{extra}</include>"


def world(*parts, name="default", version="1.6"):
    """Return a complete world file."""
    body = "\n    ".join(parts)
    return f'<sdf version="{version}">\n  <world name="{name}">\n    {body}\n  </world>\n</sdf>\n'


def _pose(text):
    if not text:
        return ""
    return text if text.startswith("<") else f"<pose>{text}</pose>"
