"""`jaxbandit tune`."""

from __future__ import annotations

import argparse

from jaxbandit.cli.imports import import_files
from jaxbandit.cli.preparation import check_writable, default_out, prepare_machine
from jaxbandit.core.files.streams import print_lines, shows_progress
from jaxbandit.experiments.configs import config as configs


def tune_command(parsed: argparse.Namespace) -> int:
    """Tune a policy of a config, and write what was tuned."""
    config = configs.load(parsed.config, parsed.set)
    prepare_machine(parsed)
    import_files(parsed.imports)
    from jaxbandit.tuning import command as tasks

    task = tasks.make_task(config)
    out = parsed.out or default_out(parsed.config)
    check_writable(out, tasks.FILES.__contains__)
    tasks.check_replaceable(task, out, parsed.force)
    made = task.run(out, progress=shows_progress())
    written = tasks.write(task, made, out)
    print_lines(tasks.summary(task, made), f"wrote {', '.join(path.name for path in written)} to {out}/")
    return 0
