"""What random programs found, made small: each program in all ways to run it, beside its results."""

import numpy as np
import pytest
import rondel
from fuzz.kept import PROGRAMS, model_of
from models import in_all_ways, interpreter, refused, session


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_that_was_once_wrong(name, monkeypatch):
    text, cases = PROGRAMS[name]
    made = model_of(text)
    sessions = in_all_ways(made, monkeypatch)
    for compiled in (False, True):
        sessions[f"exported, compiled={compiled}", "0"] = session(rondel.export(made, compiled=compiled), options=interpreter())
    for (jit, check), s in sessions.items():
        for feeds, wants in [*cases, cases[0]]:
            if wants is None:
                with refused(rondel.CallerError, ("elements do not fill", "do not broadcast")):
                    s.run(None, feeds)
                continue
            for got, want in zip(s.run(None, feeds), wants, strict=True):
                assert got.shape == np.shape(want), f"RONDEL_JIT={jit} RONDEL_CHECK={check}: {got.shape}"
                np.testing.assert_array_equal(got, want, err_msg=f"RONDEL_JIT={jit} RONDEL_CHECK={check}")
