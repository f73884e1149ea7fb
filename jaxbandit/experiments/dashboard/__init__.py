"""The dashboard: results as one HTML page that works without a server and without a network."""
