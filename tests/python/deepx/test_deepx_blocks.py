"""deepx: blocks (counted loops and while loops), Rondel's extension of the language."""

import numpy as np
import pytest

from rondel import CallerError, DeadlineExceeded, LimitExceeded, deepx


def session_with(**tensors):
    session = deepx.Session()
    for name, value in tensors.items():
        session[name] = np.asarray(value)
    return session


def test_a_counted_loop():
    session = session_with(t=np.array([1.0, 2.0]), u=np.array([0.5, 1.0]))
    session.run("argset@int32 3->n\nloop n {\n  add t u->t\n  mul_scalar u 2->u\n}")
    np.testing.assert_array_equal(session["t"], [1 + 0.5 + 1 + 2, 2 + 1 + 2 + 4])
    np.testing.assert_array_equal(session["u"], [4, 8])
    session.run("loop 0 {\n constant 9->t\n}")
    np.testing.assert_array_equal(session["t"], [4.5, 9])


@pytest.mark.parametrize("t", [np.zeros(1, np.int32), np.zeros((), np.float32), np.zeros((1, 1), np.int64)])
def test_the_number_of_the_trip(t):
    session = session_with(i=t, s=np.zeros_like(t))
    session.run("loop 5->i {\nadd s i->s\n}")
    assert session["s"].item() == 10 and session["i"].item() == 4 and session["i"].dtype == t.dtype


def test_a_while_loop():
    """Newton's square root, until no element changes much."""
    session = session_with(a=np.array([2.0, 9.0]), x=np.array([2.0, 9.0]), y=np.zeros(2), far=np.array(True), worst=np.array(0.0), n=np.array(0))
    session.run("""
        while far {
          div a x->y
          add x y->y
          mul_scalar y 0.5->y
          sub y x->x
          mul x x->x
          reducemax x [0]->worst
          copytensor y->x
          greater_scalar worst 1e-20->far
          add_scalar n 1->n
        }
    """.replace("copytensor y->x", "mul_scalar y 1->x"))
    np.testing.assert_allclose(session["x"], [np.sqrt(2), 3], 1e-15)
    assert 5 <= session["n"] <= 8 and not session["far"]
    session.run("while far {\nconstant 0->x\n}")
    assert session["x"][1] == 3


def test_a_while_loop_with_a_most():
    session = session_with(go=np.array([True]), n=np.array(0))
    session.run("while go 7 {\nadd_scalar n 1->n\n}")
    assert session["n"] == 7


def test_heads_in_the_later_form():
    session = session_with(i=np.array(0, np.int32), n=np.array(0.0), go=np.array(True))
    session.run("argset@int16 3->three\nloop(var<int16>:three) -> (tensor<int32>:i) {\nadd_scalar n 1->n\n}\n"
                "while tensor<bool>:go var<int8>:4 {\nadd_scalar n 10->n\n}")  # fmt: skip
    assert session["n"] == 43 and session["i"] == 2


def test_loops_in_loops():
    session = session_with(t=np.zeros((3, 4), np.int32), n=np.array(0, np.int32), i=np.array(0, np.int32), j=np.array(0, np.int32), s=np.array(0, np.int32))
    session.run("""
        loop 3 -> i {
          loop 4 -> j {
            mul_scalar i 10 -> s
            add s j -> s
            add n s -> n
          }
          add_scalar n 1000 -> n
        }
    """)
    assert session["n"] == sum(10 * i + j for i in range(3) for j in range(4)) + 3000


def test_gradients_in_a_loop():
    """Gradient descent on (w - 3)^2, written in deepx lines only."""
    session = session_with(w=np.array([0.0]), e=np.array([0.0]), loss=np.array([0.0]), e_grad=np.array([0.0]), w_grad=np.array([0.0]), loss_grad=np.array([1.0]))
    session.run("""
        loop 100 {
          sub_scalar w 3->e
          mul e e->loss
          constant 0->e_grad
          constant 0->w_grad
          mul e(e_grad) e(e_grad)<-loss(loss_grad)
          sub_scalar w 3<-e
          mul_scalar w_grad 0.1->w_grad
          sub w w_grad->w
        }
    """)
    np.testing.assert_allclose(session["w"], [3], 1e-9)


def test_draws_differ_from_trip_to_trip():
    session = session_with(x=np.zeros(4, np.float32), s=np.zeros(4, np.float32), same=np.zeros(4, np.float32))
    session.run("loop 2 {\nuniform 0 1->x\nadd s x->s\n}\nadd x x->same")
    assert (session["s"] != session["same"]).all()
    again = session_with(x=np.zeros(4, np.float32), s=np.zeros(4, np.float32))
    again.run("loop 2 {\nuniform 0 1->x\nadd s x->s\n}")
    np.testing.assert_array_equal(session["s"], again["s"])


@pytest.mark.parametrize(
    "text, message",
    [
        ("loop 3 {\nadd t x->t\n}", "line 2, column 7: there is no 'x'"),
        ("loop 3 {\nnewtensor@float32 [2]->x\n}", "line 2, column 1: 'newtensor' cannot stand in a block"),
        ("loop 3 {\nprint t\n}", "line 2, column 1: 'print' cannot stand in a block"),
        ("loop 3 {\nadd t t->t", "line 1, column 1: the block has no end"),
        ("loop 3 {\n  loop 2 {\nadd t t->t", "line 2, column 3: the block has no end"),
        ("loop 3 {\nadd t t->t ]\n\n}", "line 2, column 12: unexpected"),
        ("loop 3 {\nadd t t->t\n} t", "line 3, column 3: nothing may follow"),
        ("loop {\n}", "line 1, column 1: expected loop n"),
        ("loop -1 {\n}", "line 1, column 6: -1 trips are negative"),
        ("loop 1.5 {\n}", "line 1, column 6: int64 does not hold 1.5"),
        ("loop var<int8>:300 {\n}", "line 1, column 6: int8 does not hold 300"),
        ("loop tensor<int64>:3 {\n}", "line 1, column 6: the number of trips is a var, not a tensor"),
        ("loop var<int32>:half {\n}", "line 1, column 10: 'half' is float32"),
        ("loop vector:two {\n}", "line 1, column 6: the number of trips is a var, not a vector"),
        ("loop 2 -> tensor<int32>:go {\n}", "line 1, column 18: 'go' is bool"),
        ("loop 2 -> var:go {\n}", "line 1, column 11: 'go' is a tensor, not a var"),
        ("while tensor<int8>:go {\n}", "line 1, column 14: 'go' is bool"),
        ("while tensor<bool>:go var<int32>:-2 {\n}", "line 1, column 23: -2 trips are negative"),
        ("while go(go) {\n}", "line 1, column 10: the head of a block has no gradients"),
        ("loop 2 -> n(n) {\n}", "line 1, column 13: the head of a block has no gradients"),
        ("loop t {\n}", "line 1, column 6: expected a number or an argument"),
        ("loop 2 -> t {\n}", "line 1, column 11: 't' is float64\\[2\\]; expected one element"),
        ("loop@int32 2 {\n}", "line 1, column 6: a block has no dtype"),
        ("while t {\n}", "line 1, column 7: 't' is float64\\[2\\]; expected one element of bool"),
        ("while go -> t {\n}", "line 1, column 1: expected while t"),
        ("repeat 3 {\n", "line 1, column 1: there is no block 'repeat'; blocks begin with: loop n"),
        ("loop 2\n", "line 1, column 1: the line of a 'loop' ends with '{'"),
        ("loop 2 {\nloop 2 {\nadd t x->t\n}\n}", "line 3, column 7: there is no 'x'"),
    ],
)
def test_wrong_blocks(text, message):
    session = session_with(t=np.array([1.0, 2.0]), go=np.array(True), n=np.array(0))
    session.run("argset@float32 0.5->half\nargset@int32 2->two")
    with pytest.raises(CallerError, match="^" + message):
        session.run(text)
    assert session["t"].tolist() == [1, 2] and session["go"]
    # The lines after an invalid block are not part of it.
    failures = session.run(text + "\nconstant 5->t" if text.endswith(("}", "\n")) else text, keep_going=True)
    assert len(failures) == 1
    assert session["t"].tolist() == ([5, 5] if text.endswith(("}", "\n")) else [1, 2])


def test_blocks_as_deep_as_they_may_be():
    session = session_with(t=np.array([1.0]))
    deep = 64
    session.run("loop 1 {\n" * deep + "add t t->t\n" + "}\n" * deep)
    assert session["t"] == 2
    failures = session.run("loop 1 {\n" * 5000 + "add t t->t\n" + "}\n" * 5000 + "add t t->t", keep_going=True)
    assert len(failures) == 1 and "more than 64 nested blocks" in str(failures[0])
    assert session["t"] == 4


def test_a_failure_in_a_trip_names_it():
    session = session_with(t=np.array([2], np.int32), one=np.array([8], np.int32), u=np.array([0], np.int32))
    with pytest.raises(CallerError, match="^line 2, column 1: 'loop 5', trip 2: 'div one t -> u': integer division by zero"):
        session.run("add_scalar one 1->one\nloop 5 {\ndiv one t->u // id=4\nsub_scalar t 1->t\n}")
    assert session["one"] == 9 and session["t"] == 2


def test_trips_are_bounded():
    session = deepx.Session(max_trips=100)
    session["go"], session["n"] = np.array(True), np.array(0)
    with pytest.raises(LimitExceeded, match="line 1, column 1"):
        session.run("while go {\nadd_scalar n 1->n\n}")
    assert session["n"] == 0


def test_a_deadline_ends_a_loop_and_takes_it_back():
    session = session_with(go=np.array(True), n=np.array(0))
    with pytest.raises(DeadlineExceeded):
        session.run("add_scalar n 1->n\nwhile go {\nadd_scalar n 1->n\n}", deadline=0.1)
    assert session["n"] == 0
    session.run("add_scalar n 1->n")
    assert session["n"] == 1


def test_the_deadline_is_that_of_the_whole_text():
    """Many short computations, each of which alone would meet the deadline."""
    session = session_with(n=np.array(0))
    with pytest.raises(DeadlineExceeded):
        session.run("add_scalar n 1->n\nprint n\n" * 200_000, on_print=lambda text: None, deadline=0.05)
    assert 0 < session["n"] < 200_000
