"""Estimators of gradients of an expected objective."""
