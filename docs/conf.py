"""Sphinx configuration: `python -m sphinx -W -b html docs OUT`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

import jaxbandit  # the theme and the pages show its version

project = "jaxbandit"
author = "The jaxbandit developers"
project_copyright = "The jaxbandit developers"
version = release = jaxbandit.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "benchmark_tables",
    "copied_pages",
    "mathml",
    "plain_docstrings",
    "registry_pages",
]
exclude_patterns = ["_extensions", "examples", "papers/verdicts"]
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # notebooks show their committed outputs
html_math_renderer = "mathml"
default_role = "literal"  # single backticks in docstrings are code
nitpicky = False

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say the types in words
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = [
    ("Parameters", "params_style"),
    ("Class attributes that a subclass may set", "params_style"),
]

html_theme = "furo"
html_title = f"jaxbandit {release}"
html_static_path = ["_static"]
html_css_files = ["wide-tables.css"]
html_theme_options = {"navigation_with_keys": True}
