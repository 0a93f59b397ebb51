"""The adjoint of a table that a loop looks up in costs what is looked up, not the table."""

import numpy as np
import pytest
import rondel
from models import model, session

LOOKUPS = {
    "rows": "row = Gather (table, token)",
    "rows, twice": "first = Gather (table, token)  other = Sub (last, token)  second = Gather (table, other)  row = Add (first, second)",
    "columns": "column = Gather <axis = 1> (turned, token)  row = Identity (column)",
    "slices": "at = Reshape (token, one)  row = GatherND (table, at)",
    "elements": "at = Reshape (token, one)  places = Expand (at, shape)  picked = GatherElements (table, places)  row = Reshape (picked, flat)",
}
SCATTERS = ("ScatterElements", "ScatterND")


@pytest.mark.parametrize("lookup", LOOKUPS)
def test_terms_are_added_where_they_belong(lookup):
    made = model(f"""g (float[7,4] table, float[4,7] turned, int64[T] tokens) => (float loss)
      <int64 last = {{6}}, int64[1] one = {{-1}}, int64[2] shape = {{1, 4}}, int64[1] flat = {{4}}, float[4] zeros = {{0, 0, 0, 0}}, int64 axis = {{0}}> {{
      lengths = Shape (tokens)
      n = Gather (lengths, axis)
      sum = Loop (n, , zeros) <body = b (int64 i, bool go, float[4] s) => (bool on, float[4] t) {{
        on = Identity (go)
        token = Gather (tokens, i)
        {LOOKUPS[lookup]}
        t = Add (s, row)
      }}>
      loss = ReduceSum <keepdims = 0> (sum)
    }}""")
    wrt = "turned" if lookup == "columns" else "table"
    gradient = rondel.grad(made, wrt=[wrt])
    tokens = np.array([0, 3, 3, 6, 5, 3])
    feeds = {"table": np.ones((7, 4), np.float32), "turned": np.ones((4, 7), np.float32), "tokens": tokens}
    s = session(gradient)
    got = s.run(None, {i.name: feeds[i.name] for i in s.get_inputs()})[1]
    counts = np.bincount(tokens, minlength=7) + (np.bincount(6 - tokens, minlength=7) if lookup == "rows, twice" else 0)
    np.testing.assert_array_equal(got, np.tile(counts, (4, 1)) if wrt == "turned" else np.tile(counts[:, None], 4))
    if lookup != "elements":  # whose adjoint begins with zeros of its own
        assert "Add" not in next_sum(gradient)


def next_sum(gradient):
    """The op types between the sum over the trips of the reverse loop and its next value."""
    loop = [n for n in gradient.graph.node if n.op_type in ("Loop", "Scan")][-1]
    body = next(a.g for a in loop.attribute if a.name == "body")
    made_by = {o: n for n in body.node for o in n.output}
    params = [v.name for v in body.input]
    found = []
    for result in body.output:
        types, v = [], result.name
        while v in made_by and made_by[v].op_type in (*SCATTERS, "Identity", "Add", "Cast"):
            types.append(made_by[v].op_type)
            v = made_by[v].input[0]
        if v in params and set(SCATTERS) & set(types):
            found.append(types)
    assert len(found) == 1, [n.op_type for n in body.node]
    return found[0]
