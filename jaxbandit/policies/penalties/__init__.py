"""Policies of the paper on penalised fairness: each missed round has a price."""
