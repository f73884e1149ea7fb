"""`jaxbandit tune`."""

from __future__ import annotations

import argparse

from jaxbandit.cli.imports import import_files
from jaxbandit.cli.preparation import check_writable, default_out, prepare_machine
from jaxbandit.core.files.streams import print_error, print_lines, shows_progress
from jaxbandit.engine.host.checkpoint import kept_in_words
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
    try:
        made = task.run(out, progress=shows_progress())
    except KeyboardInterrupt:
        print_error(kept_in_words(out, "command"))
        raise
    written = tasks.write(task, made, out)
    print_lines(tasks.summary(task, made), f"wrote {', '.join(path.name for path in written)} to {out}/")
    return 0
