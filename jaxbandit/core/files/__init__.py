"""Files that are written atomically, their names and checksums, and output streams."""
