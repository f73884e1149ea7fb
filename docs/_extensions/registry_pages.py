"""Pages of the reference that are written from the registries: policies, rewards, delays, metrics, the command line."""

from pathlib import Path

import jaxbandit as jb
from jaxbandit.cli.parser import make_parser
from jaxbandit.environment.delays import Delay
from jaxbandit.environment.merit import Merit
from jaxbandit.environment.opportunities import Opportunity
from jaxbandit.environment.rewards import Reward
from jaxbandit.metrics.metric import METRICS
from jaxbandit.metrics.welfare import INSTANCE_NUMBERS
from jaxbandit.policies.base import Alias, Policy

KINDS = {
    "rewards": (Reward, "Rewards", "The distributions of rewards: the key `reward` of a problem."),
    "delays": (Delay, "Delays", "The rounds between a selection and the arrival of its reward: the key `delay`."),
    "merits": (Merit, "Merit functions", "What the merit of an arm is, given its mean: the key `merit`."),
    "opportunities": (Opportunity, "Fairness functions", "The shares of the rounds of arms: the key `opportunity`."),
}

AFTER = {  # sections at the ends of pages
    "delays": """\
## Conversion logs

The `table` of `empirical` can be the path of a conversion log. It is text in UTF-8, one click per line, with tabs
between columns; -1 is a missing value, and a first line with names of columns is skipped. It has the 5 columns
`Sale` (0 or 1), `time_delay_for_conversion` (seconds), `nb_clicks_1week`, `product_id` and `product_title`, or the
23 columns of the Criteo Sponsored Search Conversion Log.

An arm is a product title; the K titles with the most lines are the arms. A line with `Sale` 1 is a conversion.
Seconds become page visits: a product that is clicked n times per week has n / `click_rate` visits per week, and a
visit is a round.

## Memory

Pending rewards are kept in a calendar. Its length is the smallest power of 2 above the longest delay, or, if delays
can be longer than the simulation, at least the horizon. In float32 it takes 8 bytes per arm, run and round of its
length: a count and a sum. It takes 2 bytes if the policy receives rewards of 0 and 1: then count and sum take one byte
each, since a delay model of this package never makes more than 255 rewards of an arm arrive in one round (with
probability above 1e-427). With a delay model of your own, which may do so, it takes 2 bytes if the calendar is
shorter than 256 rounds, and 4 if it is shorter than 2^16. A policy that needs further sums, such as squares (`ucb-v`)
or losses weighted by chances (`exp3`, `tsallis-inf`), takes 8 bytes and 4 more for each of them. In float64 a sum takes
8 bytes. The delays `none` and `packet-loss` need no calendar.
""",
}


def setup(app):
    """Write the pages before Sphinx reads any; called by Sphinx."""
    app.connect("config-inited", _write_all)
    return {"parallel_read_safe": True}


def _write_all(app, config):
    folder = Path(app.srcdir) / "reference" / "generated"
    folder.mkdir(exist_ok=True)
    pages = {"policies": _policies(), "metrics": _metrics(), "command-line": _command_line()}
    pages |= {name: _components(*about) + AFTER.get(name, "") for name, about in KINDS.items()}
    for name, text in pages.items():
        _write(folder / f"{name}.md", text)


def _write(path, text):
    """Write a page if it has changed, so that Sphinx reads changed pages only."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def _rst(text):
    return f"```{{eval-rst}}\n{text}\n```\n"


def _anchor(name):
    return f"({name})=\n"


def _summary(component):
    """The first sentence of a component's docstring, as a cell of a table."""
    first = component.own_docstring().split("\n\n")[0].replace("\n", " ")
    return first.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_")


def _policies():
    classes = {name: found for name, found in Policy.registry.items() if not isinstance(found, Alias)}
    aliases = {name: found for name, found in Policy.registry.items() if isinstance(found, Alias)}
    indices = set(jb.list_indices())
    lines = [
        "# Policies",
        "",
        "Every name works in `jb.simulate`, `jb.policy` and as `kind` in a config. An *index* is a policy, too; it can "
        "be the `base` of policies that take one. `jaxbandit policies NAME` prints the same in a terminal.",
        "",
        "| name | what it is |",
        "|---|---|",
    ]
    lines += [f"| [`{name}`](policy-{name}) | {_summary(found)} |" for name, found in sorted(classes.items())]
    lines += [f"| `{name}` | {found.summary} ({found.source}) |" for name, found in sorted(aliases.items())]
    for title, chosen in (
        ("Indices", [name for name in classes if name in indices]),
        ("Other policies", [name for name in classes if name not in indices]),
    ):
        lines += ["", f"## {title}", ""]
        for name in sorted(chosen):
            found = classes[name]
            lines += [
                f"(policy-{name})=",
                f"### `{name}`",
                "",
                _rst(f".. autoclass:: {found.__module__}.{found.__qualname__}"),
            ]
    return "\n".join(lines)


def _components(base, title, about):
    lines = [f"# {title}", "", about, ""]
    for name, found in base.registry.items():
        lines += [f"## `{name}`", "", _rst(f".. autoclass:: {found.__module__}.{found.__qualname__}")]
    return "\n".join(lines)


_MORE_NEEDS = {"group_fractions": ("groups", "group_fractions")}  # a key that another one comes with


def _needs(name, metric):
    """The keys that a metric needs, as a cell of a table."""
    keys = [key for need in metric.needs for key in _MORE_NEEDS.get(need, (need,))]
    keys += ["p_mean"] if name == "p_mean_regret" else []
    return ", ".join(f"`{key}`" for key in keys) or "nothing more"


def _metrics():
    lines = ["# Metrics", "", "The metrics by name, with their units and the keys of a problem that they need.", ""]
    lines += ["| metric | meaning (unit) | computed | needs |", "|---|---|---|---|"]
    for name, metric in METRICS.items():
        computed, needs = "when named" if metric.when_named else "by default", _needs(name, metric)
        lines.append(f"| `{name}` | {metric.label} | {computed} | {needs} |")
        if name.endswith("max_deficit"):
            ever = metric.label.replace("(", "in rounds 1 to T (")
            lines.append(f"| `{name}_ever` | {ever} | with `{name}` | {needs} |")
    lines += [f"| `{name}` | {label} | when named | `fractions` |" for name, (_, label) in INSTANCE_NUMBERS.items()]
    lines += [
        "",
        "*By default* a metric is computed where the problem has the keys that it needs; *when named*, if it is in "
        "`metrics`. `p_mean` is a key of the simulation, all others are of the problem. A metric `_ever` is one number "
        "per run, the price of fairness one number per instance.",
        "",
        "t is the round, L the number of plays per round, mu_k the mean reward of arm k, gap_k its distance from the "
        "largest mean, N_k(t) the number of its selections in rounds 1 to t, tau_k its fraction and A_k its penalty "
        "rate; (x)+ is max(x, 0). [Metrics](../../concepts/metrics.md) has the same formulas in mathematical notation.",
        "",
    ]
    for name, metric in METRICS.items():
        function = metric.formula
        lines += [
            f"## `{name}`",
            "",
            _rst(f".. autofunction:: {function.__module__}.{function.__qualname__}\n   :no-index:"),
        ]
    for name, (function, _) in INSTANCE_NUMBERS.items():
        where = f"{function.__module__}.{function.__qualname__}"
        lines += [f"## `{name}`", "", _rst(f".. autofunction:: {where}\n   :no-index:")]
    return "\n".join(lines)


def _command_line():
    lines = ["# Command line", ""]
    parser = make_parser()
    parser.prog = "jaxbandit"
    lines += ["```text", parser.format_help().rstrip(), "```", ""]
    for action in parser._subparsers._group_actions:
        for name, command in action.choices.items():
            lines += [f"## `jaxbandit {name}`", "", "```text", command.format_help().rstrip(), "```", ""]
    return "\n".join(lines)
