# An empty room with the robot's start and goals.
workspace = Workspace(RectangularRegion(0 @ 0, 0, 5, 10))
create_room(workspace.region.length, workspace.region.width)

ego = new Turtlebot3

new Waypoint behind ego by 3
new Waypoint offset by Range(1, 2) @ Range(1, 2)
