# A corridor that a pedestrian crosses when the robot is near, with a door at its end that slides
# open for the robot: docs/scenic.md, "Scenarios that act".
param speed = Range(0.6, 1.4)

workspace = Workspace(RectangularRegion(0 @ 0, 0, 10, 18))
create_room(18, 10)

ego = new Turtlebot3 at Range(-3, 3) @ -7.5, facing 0 deg
goal = new Waypoint at Range(-3, 3) @ 7.5, facing 0 deg

class Pedestrian:
    shape: CylinderShape()
    width: 0.5
    length: 0.5
    height: 1.7
    color: (0.25, 0.45, 0.7)

class Door:
    width: 1.8
    length: 0.08
    height: 1.9
    allowCollisions: True

behavior CrossWhenNear(goal, speed, within):
    while (distance from self to ego) > within:
        wait
    do WalkTo(goal, speed)

behavior OpenWhenNear(offset, within, seconds):
    while (distance from self to ego) > within:
        wait
    do SlideBy(offset, seconds)

# The pedestrian waits on one side and walks to the other.
side = Uniform(-1, 1)
row = Range(-3, 1)
pedestrian = new Pedestrian at (side * 3.5) @ row, facing toward 0 @ row,
    with behavior CrossWhenNear((-side * 3.5) @ row, globalParameters.speed, Range(2.5, 5))

# A wall with a doorway in the middle.
new GreyWall at -2.8 @ 4.5, facing 90 deg, with length 3.8
new GreyWall at 2.8 @ 4.5, facing 90 deg, with length 3.8
door = new Door at 0 @ 4.65, facing 0 deg, with behavior OpenWhenNear(-1.9 @ 0, 3, 1.5)

# Obstacles away from the pedestrian's path.
for i in range(3):
    new Crate in RectangularRegion(0 @ -5, 0, 8, 2), with height 0.6

require always (distance from pedestrian to door) > 0.5

record (distance from ego to pedestrian) as pedestrian_distance_m
record final door.position.x as door_x_m
