"""A gate for continuous integration, and a calculation of the number of worlds that it needs."""
