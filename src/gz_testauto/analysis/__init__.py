"""What a campaign's numbers say: rates with intervals, and planners compared world by world."""
