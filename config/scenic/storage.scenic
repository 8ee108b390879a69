# Crates of random sizes, some on others; `-p count 60 --keep-placed` gives a dense scene.
param count = 16

workspace = Workspace(RectangularRegion(0 @ 0, 0, 30, 30))
create_room(30, 30)

ego = new Turtlebot3 at 0 @ -13
for i in range(int(globalParameters.count)):
    new Crate with width Range(0.3, 0.9), with length Range(0.25, 0.75)
new Waypoint in RectangularRegion(0 @ 12, 0, 20, 3)
