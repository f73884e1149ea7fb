"""`Problem`: means, rewards, delays and availability of arms, and the fairness requirements."""

from jaxbandit.environment.problem.problem import Problem, problem_of, problem_table

__all__ = ["Problem", "problem_of", "problem_table"]
