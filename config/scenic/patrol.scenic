# A room with a table and with crates at random positions, which are high enough for a lidar. The
# robot must move from one end to the other.
param crates = 4

workspace = Workspace(RectangularRegion(0 @ 0, 0, 10, 14))
create_room(14, 10)
middle = RectangularRegion(0 @ 0, 0, 8, 6)

ego = new Turtlebot3 at Range(-3, 3) @ -5.5, facing 0 deg
goal = new Waypoint at Range(-3, 3) @ 5.5, facing 0 deg

table = new CafeTable at 0 @ 0, facing 0 deg
for i in range(int(globalParameters.crates)):
    new Crate in middle, with height 0.6
