"""The texts of `--help`: what each command does, and examples."""

ABOUT = "Simulate fair and delayed multi-armed bandits in batches. `jaxbandit COMMAND --help` explains a command."
EXAMPLES = """\
examples:
  jaxbandit run quickstart
  jaxbandit policies fair-learn
  jaxbandit list delays"""
RUN = """\
Simulate the policies of a config, print a summary table, and write to DIR: the results (results.nc), a page to walk
around in (results.html), figures and, for a grid, a table (table.csv).

Finished blocks of runs are saved in DIR/unfinished until DIR/results.nc is written. After an interruption
(Ctrl-C, a kill, a power cut), `jaxbandit resume DIR` or the same command again continues the run."""
RUN_EXAMPLES = """\
examples:
  jaxbandit run configs/quickstart.toml
  jaxbandit run my.toml --out results/long --set simulation.seeds=1000
  jaxbandit run my.toml --set policies.0.eta=[1,10,100]
  jaxbandit run my.toml --set grid.problem.penalties=[0.1,0.4]
  jaxbandit run my.toml --until "regret_stderr<0.5"
  jaxbandit run my.toml --add --set simulation.seeds=2000
  jaxbandit run my.toml --import my_policies.py
  jaxbandit run penalties/figure-2-k5      (a name of `jaxbandit list configs`)
  jaxbandit run results/my/results.nc --out again   (the config of the results)
"""
RESUME = """\
Continue an interrupted run. It ends as `jaxbandit run` would have, with the same results."""
RESUME_EXAMPLES = """\
example:
  jaxbandit resume results/my"""
TUNE = """\
Find the parameters of a policy with the best expected objective within limits, as the table [tuning] of a config says.
Print the start, the best common value and the result, with warnings. Write the config with the tuned policy added, the
steps of the search and their figure to DIR: tuned.toml, tuning.nc, tuning.png and tuning.pdf.

After an interruption the same command runs only the simulations that are missing."""
TUNE_EXAMPLES = """\
examples:
  jaxbandit tune my.toml
  jaxbandit tune my.toml --set tuning.steps=60 --force
  jaxbandit run results/my/tuned.toml"""
REPRODUCE = """\
Simulate the experiments of the papers, draw their figures, decide their claims, and write a report to DIR:
report.html, report.md and claims.json.

After an interruption the same command runs only the simulations that are missing."""
REPRODUCE_EXAMPLES = """\
examples:
  jaxbandit reproduce guarantees --quick
  jaxbandit reproduce plays --figure 7
  jaxbandit reproduce --out results/all"""
POLICIES = """\
Print policies: what each does, its source, and its parameters with their ranges and defaults. With names, only these,
each with the table that a config takes."""
POLICIES_EXAMPLES = """\
examples:
  jaxbandit policies
  jaxbandit policies fair-learn lfg
  jaxbandit policies my-policy --import my_policies.py"""
LIST = "Print the names that configs take, each with what it stands for and, where it has any, its parameters."
LIST_EXAMPLES = """\
examples:
  jaxbandit list delays
  jaxbandit list configs"""
