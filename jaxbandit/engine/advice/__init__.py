"""What the engine tells users beside results: warnings, and what to do about errors."""
