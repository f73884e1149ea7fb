"""Mean rewards of a problem, constant or changing."""
