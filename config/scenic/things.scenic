# A few objects around a robot.
workspace = Workspace(RectangularRegion(0 @ 0, 0, 6, 6))

ego = new Turtlebot3 at 0 @ 0

new CafeTable offset by 1 @ 2
new TrafficCone
new TrafficCone
new Crate left of ego by 1.5
new Waypoint
