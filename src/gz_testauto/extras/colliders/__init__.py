"""Where things are in relation to one another: flat and solid colliders, rays, planes, views."""
