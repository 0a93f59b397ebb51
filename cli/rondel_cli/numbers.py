"""Numbers on the command line: types of options."""

import argparse


def count(text):
    """The value of an option that takes an integer of 0 or more."""
    if not text.isdigit() or int(text) >= 2**63:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of 0 or more, below 2**63")
    return int(text)


def at_least_one(text):
    """The value of an option that takes an integer of 1 or more."""
    if not text.isdigit() or not 1 <= int(text) < 2**63:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of 1 or more, below 2**63")
    return int(text)


def seconds(text):
    """The value of an option that takes a time."""
    try:
        if float(text) >= 0:
            return float(text)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"'{text}' is not a time in seconds, 0 or more")
