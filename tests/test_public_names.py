"""The public names: which there are, what completion shows, and what `import jaxbandit` loads."""

import inspect
import subprocess
import sys
import types
from pathlib import Path

import pytest

import jaxbandit as jb

NAMES = [
    "NEVER",
    "Agent",
    "Delay",
    "Index",
    "InputError",
    "Merit",
    "Metric",
    "Opportunity",
    "Policy",
    "Problem",
    "ReturnedError",
    "Reward",
    "RoundView",
    "Rule",
    "Simulator",
    "Stream",
    "WriteError",
    "__version__",
    "bounds",
    "check_policy",
    "cite",
    "combine",
    "dashboard",
    "grids",
    "indices",
    "instances",
    "list_configs",
    "list_delays",
    "list_indices",
    "list_merits",
    "list_metrics",
    "list_opportunities",
    "list_policies",
    "list_rewards",
    "load",
    "metrics",
    "parameter",
    "plots",
    "policies",
    "policy",
    "save",
    "simulate",
    "struct",
    "summary",
    "tuning",
    "unregister",
]
INTERNAL = ["cli", "core", "engine", "environment", "experiments", "papers"]
HEAVY = ["h5netcdf", "h5py", "jax", "matplotlib", "numpy", "optax", "pandas", "tqdm", "xarray"]
MODULES = [name for name in NAMES if name.islower() and isinstance(getattr(jb, name), types.ModuleType)]
CALLABLES = [name for name in NAMES if callable(getattr(jb, name))]


def test_completion_shows_the_public_names_only():
    assert dir(jb) == sorted(jb.__all__) == sorted(NAMES)
    assert not set(INTERNAL) & {*dir(jb), *jb.__all__}


def test_a_fresh_import_loads_nothing_heavy():
    """And the lazy names work in that process; `dir` does not import them."""
    program = f"""
import sys
import jaxbandit as jb
dir(jb)
loaded = [name for name in {HEAVY} if name in sys.modules]
assert not loaded, loaded
assert callable(jb.simulate) and callable(jb.grids.table) and "pandas" in sys.modules
assert "matplotlib" not in sys.modules
assert callable(jb.plots.curves) and "matplotlib" in sys.modules
from jaxbandit import bounds, metrics, summary, tuning
"""
    root = str(Path(jb.__file__).parents[1])
    ended = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_misspelt_name_suggests_the_nearest():
    with pytest.raises(AttributeError, match=r"^module 'jaxbandit' has no attribute 'simulat' \(did you mean 'simul"):
        _ = jb.simulat
    with pytest.raises(AttributeError, match=r"^module 'jaxbandit' has no attribute 'frobnicate'$"):
        _ = jb.frobnicate


def test_the_version_is_the_installed_one():
    from importlib import metadata

    assert jb.__version__ == metadata.version("jaxbandit")


@pytest.mark.parametrize("name", MODULES)
def test_public_modules_show_their_public_names_only(name):
    module = getattr(jb, name)
    assert inspect.getdoc(module)
    assert sorted(dir(module)) == sorted(module.__all__)
    for public in module.__all__:
        thing = getattr(module, public)
        assert not public.startswith("_")
        assert not isinstance(thing, types.ModuleType)
        if callable(thing):
            assert inspect.getdoc(thing)
            assert thing.__module__.startswith("jaxbandit.")


@pytest.mark.parametrize("name", CALLABLES)
def test_a_public_name_has_a_docstring_with_an_example(name):
    text = inspect.getdoc(getattr(jb, name)) or ""
    assert len(text) > 40
    assert ">>> " in text


def test_what_users_look_for_is_where_they_look():
    assert "regret" in jb.metrics.METRICS
    assert jb.bounds.bounds_for is importlib_table().bounds_for
    assert jb.policies.FairLearn.name == "fair-learn"
    assert jb.indices.UCB1.name == "ucb1"


def importlib_table():
    from jaxbandit.metrics.bounds import table

    return table
