"""The page of measured speeds, written from the newest results of each processor in `benchmarks/results/`."""

import json
import re
import shutil
from pathlib import Path

COLUMNS = {"jaxbandit": "jaxbandit", "numba": "Numba", "smpybandits": "SMPyBandits", "mabwiser": "MABWiser"}
NAME = re.compile(r"\d{4}-\d\d-\d\d-cpu\.json")
NAME_OF_GPU = re.compile(r"\d{4}-\d\d-\d\d-gpu\.json")
RUNS, ARMS = 1 << 20, 10  # of the table of a GPU


def setup(app):
    """Write the page before Sphinx reads any; called by Sphinx."""
    app.connect("config-inited", _write_page)
    return {"parallel_read_safe": True}


def _write_page(app, config):
    docs = Path(app.srcdir)
    (docs / "reference" / "generated").mkdir(exist_ok=True)
    newest, of_gpus = {}, {}
    for file in _in_order(docs):
        if NAME_OF_GPU.fullmatch(file.name):
            results = json.loads(file.read_text())
            of_gpus[results["machine"]["device"]] = results
        if NAME.fullmatch(file.name):
            results = json.loads(file.read_text())
            newest[results["device"], results["processor"]] = file, results
    lines = [
        "# Speed",
        "",
        "Millions of rounds per second, summed over all runs, without compilation. All columns do the same work, and "
        "agree on the mean number of selections of every arm. [Benchmarks](benchmarks.md) says how they are measured "
        "and what limits each policy.",
    ]
    for file, results in sorted(newest.values(), key=lambda found: found[0], reverse=True):
        lines += _section(results, file, docs)
    for results in of_gpus.values():
        lines += _gpu_section(results)
    text = "\n".join([*lines, ""])
    page = docs / "speed.md"
    if not page.exists() or page.read_text() != text:
        page.write_text(text)


def _in_order(docs):
    """The results, the oldest first."""
    return sorted((docs.parent / "benchmarks" / "results").glob("*.json"))


def _section(results, file, docs):
    """The table of one device, and the figure of the same name."""
    versions = results["versions"]
    shown = [name for name in COLUMNS if any(name in row["million_rounds_per_second"] for row in results["rows"])]
    lines = [
        "",
        f"## {results['cores']} cores of {results['processor']}",
        "",
        f"{results['date']}, {results['device']}; jaxbandit {versions['jaxbandit']}, "
        f"JAX {versions['jax']}, NumPy {versions['numpy']}, Numba {versions['numba']}. The best of "
        f"{results['repeats']} repeats, in turns. K arms, L plays per round. *Ratio* is the speed divided by Numba's.",
        "",
        f"| policy | K | L | runs | {' | '.join(COLUMNS[name] for name in shown)} | ratio | compiled in, s |",
        "|---" * (len(shown) + 6) + "|",
    ]
    for row in results["rows"]:
        speeds = row["million_rounds_per_second"]
        cells = [f"`{row['policy']}`", row["arms"], row["plays"], f"{row['runs']:,}"]
        cells += [_millions(speeds[name]) if name in speeds else "" for name in shown]
        cells.append(f"{speeds['jaxbandit'] / speeds['numba']:.2g}" if "numba" in speeds else "")
        cells.append(f"{row['compile_seconds']['jaxbandit']:.2g}")
        lines.append(f"| {' | '.join(map(str, cells))} |")
    figures = {
        file.with_suffix(".png"): "The speed of all policies",
        file.with_name(f"{file.stem}-scaling.png"): "Speed and memory over runs, arms, plays and horizon",
    }
    for figure, about in figures.items():
        if figure.exists():
            shutil.copy(figure, docs / "reference" / "generated" / figure.name)
            lines += ["", f"![{about}](reference/generated/{figure.name})"]
    return lines


def _millions(speed):
    """A speed with three digits, without an exponent."""
    return f"{speed:,.0f}" if speed >= 100 else f"{speed:.3g}"


def _gpu_section(results):
    """The table of one GPU."""
    machine, steps = results["machine"], results["steps"]
    kernels = {row["kind"]: row for row in _at_one_size(steps["kernel"])}
    scans = {row["kind"]: row for row in _at_one_size(steps["policies"])}
    differing = {row["kind"]: row["differing"] for row in steps["agreement"]}
    hosts = {row["kind"]: row["rounds_per_second"] for row in steps["host"]}
    lines = [
        "",
        f"## {machine['device'].removeprefix('1 x ').removesuffix(' (gpu)')}",
        "",
        f"{machine['date']}; JAX {machine['versions']['jax']}. Billions of rounds per second of {RUNS:,} runs with "
        f"{ARMS} arms, with two plays per round for policies that use merit. *One kernel* is the default, *several* "
        "is `gpu_kernel = false`, *two cores* are those of the host, where four policies were timed. The "
        "engine alone is timed, without metrics. *Compiled in* is the time to compile the one "
        "kernel while other programs were compiled. *Differs* is the share of 10,000 runs that select otherwise on "
        "the CPU in some of 300 rounds with four arms. [GPUs](howto/gpus.md)",
        "",
        "| policy | one kernel | several | two cores | compiled in, s | differs |",
        "|---|---|---|---|---|---|",
    ]
    for kind, several in sorted(scans.items()):
        one = kernels.get(kind)
        compiled = "" if one is None else f"{one['lower_seconds'] + one['compile_seconds']:.2g}"
        cells = [f"`{kind}`", *(_billions(row and row["rounds_per_second"]) for row in (one, several))]
        cells += [_billions(hosts.get(kind)), compiled, f"{100 * differing[kind]:.2g} %"]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _at_one_size(rows):
    return (row for row in rows if (row.get("runs"), row.get("arms")) == (RUNS, ARMS) and "rounds_per_second" in row)


def _billions(speed):
    return "" if speed is None else f"{speed / 1e9:.3g}"
