"""Policies that weigh the opportunities of arms against a transfer cost (opportunities paper).

The fairness function f entitles arm k to T f(mu)_k plays, its opportunities. Each of them that is withheld costs
lambda_k. To grant one costs the gap of the arm, max_j mu_j - mu_k. So opportunities are worth granting to the arms
whose gaps are below lambda_k.
"""
