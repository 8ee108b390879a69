# Two rooms with two tables, a shelf and a lamp, and the goals of a Fetch: the scenario for picking
# and placing in the GzScenic paper, with cubes on the table.
width = 8
length = 8
workspace = Workspace(RectangularRegion(0 @ 0, 0, width, length))

create_room(length, width, x=0, y=0, sides='NSWE')
create_room(3, 2.5, x=-2, y=2, sides='NSE')

ego = new Fetch at 0 @ 0

table = new CafeTable offset by 1.5 @ 1, facing 0 deg
table2 = new CafeTable at -2 @ 2, facing 0 deg
cube = new DemoCube on table
new DemoCube on cube
new Bookshelf at Range(-3, 3) @ -3.5, facing 0 deg

back_right_region = RectangularRegion(-2 @ -1.5, 0, 3, 2.5)
new FloorLamp in back_right_region

new Waypoint in back_right_region, facing 90 deg
new Waypoint ahead of table by 1, facing toward table
