"""The parts of an SDF model that a physics engine needs: bodies, joints, unsupported elements."""
