"""What a campaign decides: gates, ends before the last world, and how many worlds it takes."""
