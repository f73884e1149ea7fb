"""What runs around the loop: checkpoints, progress, other processes."""
