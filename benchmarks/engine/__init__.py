"""The engine: speed and memory over sizes, several processes, two checkouts, and the limit of the machine."""
