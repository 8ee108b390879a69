"""Small worlds that reproduce a failure of a planner."""
