"""Single runs in the user's hands: a simulation round by round, and a policy for the real world."""

from jaxbandit.engine.stepping.agent import Agent
from jaxbandit.engine.stepping.simulator import Simulator
from jaxbandit.engine.stepping.state_files import load, save

__all__ = ["Agent", "Simulator", "load", "save"]
