"""Convert URDF to SDF as Gazebo 11 does, and run xacro."""
