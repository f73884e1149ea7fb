"""A check of what the package logs."""

import contextlib
import logging
import re


@contextlib.contextmanager
def logged(match):
    """Within this context the logger `jaxbandit` gets a warning that matches a regular expression."""
    records = []

    class Kept(logging.Handler):
        def emit(self, record):
            records.append(record)

    handler = Kept(logging.WARNING)
    logging.getLogger("jaxbandit").addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger("jaxbandit").removeHandler(handler)
    messages = [record.getMessage() for record in records]
    assert any(re.search(match, message) for message in messages), messages
