"""From a config or a call of `simulate` to a labelled dataset, tables and figures."""
