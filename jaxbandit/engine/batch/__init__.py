"""Runs onto devices: blocks, chunks of rounds, devices, memory."""
