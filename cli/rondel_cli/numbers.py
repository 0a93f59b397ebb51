"""Numbers on the command line: types of options."""

import argparse
import re


def whole_number(text):
    """The integer that decimal digits say; None if it is not below 2**63, or if there is anything else in the text."""
    digits = re.fullmatch("0*([0-9]{1,19})", text)
    return int(digits[1]) if digits and int(digits[1]) < 2**63 else None


def count(text):
    """The value of an option that takes an integer of 0 or more."""
    number = whole_number(text)
    if number is None:
        raise argparse.ArgumentTypeError(f"'{text:.100}' is not a number of 0 or more, below 2**63")
    return number


def at_least_one(text):
    """The value of an option that takes an integer of 1 or more."""
    number = whole_number(text)
    if not number:
        raise argparse.ArgumentTypeError(f"'{text:.100}' is not a number of 1 or more, below 2**63")
    return number


def seconds(text):
    """The value of an option that takes a time."""
    try:
        if float(text) >= 0:
            return float(text)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"'{text:.100}' is not a time in seconds, 0 or more")
