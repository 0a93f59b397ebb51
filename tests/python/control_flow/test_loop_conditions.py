"""The condition of an ONNX Loop where the model leaves it out: loop_cond, its warning, and which conditions of a body count as true."""

import warnings

import numpy as np
import pytest
import rondel
from loop_cases import DOUBLING
from models import LOOP_VERSIONS, TRUE, f32, i64, model, options, run, same, scalar, session

COND_OMITTED = """
main (int64 m, float x) => (float y, float[n] s, bool[n] seen) {
  y, s, seen = Loop (m, , x) <body: graph = body (int64 i, bool go, float a)
      => (bool more, float b, float item, bool seen_go) {
    one = Constant <value_float: float = 1.0> ()
    b = Add (a, one)
    item = Identity (b)
    limit = Constant <value_int: int = 1> ()
    more = Less (i, limit)
    seen_go = Identity (go)
  }>
}"""


@pytest.mark.parametrize("version", [v for v in LOOP_VERSIONS if v >= 13])
def test_cond_left_out_never_stops_on_the_bodys_condition(version):
    y, s, seen = run(COND_OMITTED, {"m": scalar(5), "x": scalar(0, np.float32)}, opset=version)
    same(y, scalar(5, np.float32))
    same(s, f32(1, 2, 3, 4, 5))
    # The condition is still carried: true in the first trip, then the last value from the body.
    same(seen, np.array([True, True, False, False, False]))


def test_loop_cond_spec_is_the_default_written_out():
    y, _, _ = run(COND_OMITTED, {"m": scalar(5), "x": scalar(0, np.float32)}, options=options(loop_cond="spec"))
    same(y, scalar(5, np.float32))


def test_loop_cond_honour_stops_on_the_bodys_condition():
    y, s, seen = run(COND_OMITTED, {"m": scalar(5), "x": scalar(0, np.float32)}, options=options(loop_cond="honour"))
    same(y, scalar(2, np.float32))
    same(s, f32(1, 2))
    same(seen, np.array([True, True]))


def test_loop_cond_honour_changes_nothing_where_cond_is_given():
    feeds = {"m": scalar(9), "c": TRUE, "last": scalar(2), "x": f32(1, 3)}
    y, _, trips = run(DOUBLING, feeds, options=options(loop_cond="honour"))
    same(y, f32(8, 24))
    same(trips, i64(0, 1, 2))


def test_loop_cond_takes_two_words_only():
    with pytest.raises((ValueError, TypeError)):
        session(COND_OMITTED, options=options(loop_cond="sometimes"))


def test_a_body_that_runs_has_a_true_condition():
    """Whether the first condition is left out, a constant or from data: in the body it is true, so an inner loop with it makes all its trips."""
    for first, feeds in (('""', {}), ("yes", {}), ("c", {"c": TRUE})):
        text = f"""
        main (int64 m, int64 k{", bool c" if feeds else ""}) => (bool[n, k] s) <bool yes = {{1}}> {{
          s = Loop (m, {first}) <body: graph = outer (int64 i, bool go) => (bool more, item) {{
            item = Loop (k, go) <body: graph = inner (int64 j, bool on) => (bool same, bool row) {{
              row = Identity (on)
              same = Identity (on)
            }}>
            more = Identity (go)
          }}>
        }}"""
        same(session(text).run(None, {"m": scalar(2), "k": scalar(3), **feeds})[0], np.ones((2, 3), bool))


# The last cast of each gives the condition; a cast between numbers before it may give 0.
NARROWED = {
    "256 in u8": "k = Constant <value_int: int = 256> ()  u = Cast <to: int = 2> (k)  more = Cast <to: int = 9> (u)",
    "0.5 in i64": "k = Constant <value_float: float = 0.5> ()  u = Cast <to: int = 7> (k)  more = Cast <to: int = 9> (u)",
    "-256 in u8": "k = Constant <value_int: int = -256> ()  u = Cast <to: int = 2> (k)  more = Cast <to: int = 9> (u)",
    "2^32 in i32": "k = Constant <value_int: int = 4294967296> ()  u = Cast <to: int = 6> (k)  more = Cast <to: int = 9> (u)",
}


@pytest.mark.parametrize("name", NARROWED)
def test_a_condition_that_a_cast_makes_false_stops_the_loop(name):
    text = COND_OMITTED.replace("(m, , x)", "(m, c, x)").replace("main (", "main (bool c, ").replace("more = Less (i, limit)", NARROWED[name])
    y, s, seen = run(text, {"m": scalar(5), "c": TRUE, "x": scalar(0, np.float32)})
    same(y, scalar(1, np.float32))
    same(s, f32(1))
    same(seen, np.array([True]))


# ---- the warning -----------------------------------------------------------------------------------------


def warned(text, **given):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        session(text, options=options(**given))
        rondel.export(model(text), sess_options=options(**given))
    assert all(w.category is rondel.ModelWarning for w in caught)
    assert all(w.filename.endswith("models.py") or w.filename == __file__ for w in caught)
    return [str(w.message) for w in caught]


def test_cond_left_out_where_the_body_computes_one_warns():
    found = warned(COND_OMITTED)
    assert len(found) == 2  # one warning from the session, one from the export
    for text in found:
        assert "(Loop): cond is left out" in text and 'loop_cond="honour"' in text and "for ... break" in text
    assert [message for level, _, message in rondel.inspect(model(COND_OMITTED)).findings if level == "warning"] == [
        found[0].split(": ", 1)[1]
    ]


def test_loop_cond_honour_does_not_warn():
    assert warned(COND_OMITTED, loop_cond="honour") == []


@pytest.mark.parametrize(
    "condition",
    [
        "more = Identity (go)",
        "more = Constant <value: tensor = bool {1}> ()",
        "yes = Constant <value_int: int = 1> ()  more = Cast <to: int = 9> (yes)",
        "same = Identity (go)  more = Identity (same)",
    ],
)
def test_cond_left_out_where_the_bodys_is_handed_on_or_true_does_not_warn(condition):
    text = COND_OMITTED.replace("more = Less (i, limit)", condition)
    assert warned(text) == []


def test_a_condition_that_is_cast_to_a_number_and_back_is_handed_on():
    """A bool is 0 or 1 in every dtype, so the loop has no condition."""
    condition = "u = Cast <to: int = 2> (go)  more = Cast <to: int = 9> (u)"
    assert warned(COND_OMITTED.replace("more = Less (i, limit)", condition)) == []


def test_cond_given_does_not_warn():
    assert warned(COND_OMITTED.replace("(m, , x)", "(m, c, x)").replace("float x)", "float x, bool c)", 1)) == []


def test_a_warning_may_be_an_error():
    with warnings.catch_warnings():
        warnings.simplefilter("error", rondel.ModelWarning)
        with pytest.raises(rondel.ModelWarning):
            session(COND_OMITTED)
