"""TOML configs: read, expanded into grids, and written from what was simulated."""
