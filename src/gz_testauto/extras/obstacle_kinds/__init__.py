"""Obstacle kinds that consist of boxes: walls, rooms, furniture, mazes and caves."""
