"""deepx: parsing of lines, in both forms; the errors of bad lines; a line that fails changes nothing."""

import random

import numpy as np
import pytest
from deepx_errors import ERRORS

from rondel import CallerError, LimitExceeded, UnsupportedError, deepx

START = """
argset@float32 2->a
argset@int32 2 3->v
newtensor@float32 v->t
newtensor@float32 v->u
newtensor@float32 v->t_grad
newtensor@int32 [3]->i
newtensor@float64 [2 3]->d
constant@float32 1->t
"""


@pytest.fixture
def session():
    made = deepx.Session()
    made.run(START)
    return made


def state(session):
    return {name: session[name].tolist() for name in session}


# ---- the two forms


@pytest.mark.parametrize(
    "line",
    [
        "add_scalar@float32 t a->u",
        "  add_scalar@float32   t\ta  ->  u  ",
        "add_scalar t a->u",
        "add_scalar@any t a->u",
        "addscalar@float32 t a -> u",
        "addscalar@float32 t 2.0 -> u //id=1 created_at=1714512000",
        "add_scalar(t, a) -> (u)",
        "addscalar(tensor<float32>:t, var<float32>:2) -> (tensor<float32>:u) //id=2",
        "addscalar(tensor<any>:t,var:2)->(tensor<float32|float64>:u)",
        "addscalar@float32 (t, 2e0) -> u",
        "add_scalar t, a -> u",
        "add_scalar@float32 t(t_grad) a->u // the names of gradients mean nothing here",
        "add_scalar t a->u\r",
    ],
)
def test_forms_of_one_line(session, line):
    session.run(line)
    np.testing.assert_array_equal(session["u"], np.full((2, 3), 3))


def test_the_later_form_of_other_instructions(session):
    session.run("""
        vecset(vector<int32>:[3 4 5])->(vector<int32>:shape) //id=1
        newtensor(vector<int32>:shape) -> (tensor<float32>:T1) //id=2 created_at=1 sent_at=2
        newtensor(vector<int32>:[4]) -> (tensor<float32>:T2)
        arange(var<float32>:0, var<float32>:1)->(tensor<float32>:T1)
        sum(tensor<float32>:T1, vector<int32>:[0 2], var<bool>:false) -> (tensor<float32>:T2) //author=miaobyte id=3
        argset(var<float32>:0.5)->(var<float32>:half)
        newtensor([8])->(tensor<float32>:joined)
        concat(listtensor<float32>:[T2 T2], var<int32>:0)->(tensor<float32>:joined)
        newtensor(vector<int32>:[4])->(tensor<bool>:m)
        greaterscalar(T2, 400)->(m)
        newtensor(vector<int32>:[4])->(tensor<float32>:chosen)
        constant(0)->(chosen)
        switch(listtensor<float32>:[T2, chosen], tensor<bool>:m)->(chosen)
        deltensor()->(tensor<any>:T1)
        renametensor(var<string>:picked)->(chosen)
    """)
    np.testing.assert_array_equal(session["T2"], [330, 405, 480, 555])
    np.testing.assert_array_equal(session["joined"], np.tile([330, 405, 480, 555], 2))
    np.testing.assert_array_equal(session["picked"], [330, 0, 0, 0])
    assert "T1" not in session and session["half"] == 0.5


def test_a_byte_order_mark_is_no_part_of_the_text(session):
    session.run("\ufeffconstant 4->u")
    assert session["u"][0, 0] == 4


def test_tensors_without_elements(session):
    session["e"], session["ge"] = np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32)
    session.run("newtensor@float32 [3]->s\nconstant 1->s\nadd e e->e\nmul e(ge) e(ge)<-e(ge)\nsum e [0]->s\narange 0 1->e\nuniform 0 1->e")
    assert session["s"].tolist() == [0, 0, 0] and session["e"].shape == (0, 3)


def test_a_list_of_tensors_in_the_first_form(session):
    session.run("newtensor@float32 [2 9]->all\nconcat@float32 t u t 1->all\nnewtensor@float32 [2 9]->all_grad\nconstant 2->all_grad")
    np.testing.assert_array_equal(session["all"], np.repeat([[1, 0, 1], [1, 0, 1]], 3, 1))
    session.run("concat@float32 t(t_grad) u t(t_grad) 1<-all(all_grad)")
    np.testing.assert_array_equal(session["t_grad"], np.full((2, 3), 4))


def test_metadata_is_told():
    told = []
    session = deepx.Session()
    session.run(
        "newtensor@float32 [2]->t //id=1 sent_at=3\n\n// a remark\nfoo //id=2\nloop 2 { // id=3\n add t t->t\n} \nprint t //id=4",
        keep_going=True, on_print=lambda text: told.append(text),
        on_line=lambda line, metadata, error: told.append((line, metadata, error and str(error))),
    )  # fmt: skip
    assert told == [
        (1, {"id": "1", "sent_at": "3"}, None),
        (4, {"id": "2"}, "line 4, column 1: there is no instruction 'foo'"),
        (5, {"id": "3"}, None),
        "t: float32[2]\n[0, 0]\n",
        (8, {"id": "4"}, None),
    ]


def test_metadata_of_lines_that_cannot_be_read():
    told = []
    failures = deepx.Session().run(
        b'add t \xff //id=7\tsent_at=9 x=\xff\nfoo "x //id=8\nprint "//id=1\t" \xff\n\x00 // remark\tid=9\x0b\x0cn=1 m=\x00 \r',
        keep_going=True, on_line=lambda line, metadata, error: told.append((line, metadata)),
    )  # fmt: skip
    assert told == [(1, {"id": "7", "sent_at": "9"}), (2, {"id": "8"}), (3, {}), (4, {"id": "9", "n": "1"})]
    assert [(f.line, f.metadata) for f in failures] == told
    assert "column 5: the text in quotes has no end" in str(failures[1])


def test_a_stray_brace_takes_no_other_line_with_it(session):
    for line in ("print t %.2f}{", "add t t->u {", "foo {"):
        failures = session.run(f"{line}\nadd_scalar t 1->t", keep_going=True)
        assert [f.line for f in failures] == [1]
        assert not deepx.ends_in_block(line)
    np.testing.assert_array_equal(session["t"], np.full((2, 3), 4))


def test_what_is_said_of_names_and_true(session):
    session.run("""
        argset@int32(var<int32>:2, var<any>:3)->(vector<int32|int8>:w)
        newtensor@any(vector<int32>:w)->(tensor<float16>:x)
        copytensor@float32(tensor<float32>:t)->(tensor<float32>:c)
        renametensor@float32(var<string>:d2)->(tensor<any>:c)
        renametensor(tensor<float32>:c)->(d2)
        add_scalar(c, var<float32>:a)->(c)
        argdel@int32(vector<int32>:w)
    """)
    assert session.kind("x") == ("tensor", np.float16, (2, 3)) and "w" not in session
    np.testing.assert_array_equal(session["c"], np.full((2, 3), 3))


def test_typed_numbers_are_of_their_type(session):
    session.run("newtensor@float64 [2]->w\nconstant(var<float32>:0.1)->(w)\nsum(t, vector<int8>:[0 1], var<int32>:1)->(one)" .replace("\nsum", "\nnewtensor@float32 [1 1]->one\nsum"))
    assert session["w"].tolist() == [np.float64(np.float32(0.1))] * 2 and session["one"].tolist() == [[6]]


def test_ranges_of_draws_that_are_one_number(session):
    session.run("uniform 3 3->t\nnormal 2 0->u\ndropout 0->t")
    assert (session["t"] == 3).all() and (session["u"] == 2).all()
    session.run("dropout 1->t\nuniform -3 -2->i")
    assert (session["t"] == 0).all() and (session["i"] == -3).all()


def test_formatted():
    text = "add@float32   a(da)  b(db)<-c(dc)//id=1 x=2 remark\nsum( a ,[0,1] )->( c )\n\nloop 3->i {\nwhile go 5 {\nadd a b->a\n}\n}"
    printed = deepx.formatted(text)
    assert printed == (
        "add@float32 a(da) b(db) <- c(dc) //id=1 x=2\nsum(a, [0 1]) -> (c)\n"
        "loop 3 -> i {\n  while go 5 {\n    add a b -> a\n  }\n}\n"
    )
    assert deepx.formatted(printed) == printed


def test_more_lines_must_follow():
    assert deepx.ends_in_block("loop 3 {\n add a b->a")
    assert not deepx.ends_in_block("loop 3 {\n add a b->a\n}")
    assert not deepx.ends_in_block("add a b->a // {")
    assert deepx.ends_in_block("loop 3 {\n \xff oops\n".encode("latin-1"))


# ---- errors



@pytest.mark.parametrize("line, column, message", ERRORS, ids=[line for line, _, _ in ERRORS])
def test_a_wrong_line(session, line, column, message):
    before = state(session)
    with pytest.raises((CallerError, LimitExceeded, UnsupportedError), match=f"^line 2, column {column}: .*({message})") as caught:
        session.run(f"constant@float32 1->t\n{line}\nconstant@float32 9->t")
    assert caught.value.line == 2
    assert state(session) == before  # the first line has set the values that `state` already had


@pytest.mark.parametrize("bad", [b"\xff", b"\xc0\x80", b"\xe2\x82", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80"])
def test_bytes_that_are_no_text(session, bad):
    before = state(session)
    with pytest.raises(CallerError, match=f"^line 1, column 7: byte 0x{bad[0]:02x} is not UTF-8"):
        session.run("add 层 ".encode() + bad + b"->u")
    assert state(session) == before
    with pytest.raises(CallerError, match="line 1, column 15: byte 0x"):
        session.run(b"add t t->u //id" [:14] + bad)


def test_a_text_with_half_of_a_surrogate_pair_is_no_text(session):
    with pytest.raises(CallerError, match="^line 1, column 7: byte 0xed is not UTF-8"):
        session.run("add 层 \ud800->u")


def test_errors_say_what_to_try(session):
    session.run("newtensor@float32 [3]->row")
    with pytest.raises(CallerError, match="'t' is float32\\[2, 3\\] and 'row' is float32\\[3\\]; .*expand row \\[2 3\\] -> "):
        session.run("add t row->u")
    with pytest.raises(CallerError, match="did you mean 't_grad'"):
        session.run("add t t_gard->u")


def test_names_that_were_deleted(session):
    session.run("deltensor t\nargdel a\nargdel v")
    for line in ("add t u->u", "add_scalar u a->u", "newtensor@float32 v->w", "deltensor t", "argdel a", "print t"):
        with pytest.raises(CallerError, match="there is no '"):
            session.run(line)


def test_keep_going(session):
    failures = session.run("constant 5->t\nadd t x->t\n\xff\nadd t t->t\nadd@int32 t t->t // id=7".encode("latin-1"), keep_going=True)
    assert [(f.line, f.metadata) for f in failures] == [(2, {}), (3, {}), (5, {"id": "7"})]
    np.testing.assert_array_equal(session["t"], np.full((2, 3), 10))


def test_a_run_stops_at_the_first_failure(session):
    with pytest.raises(CallerError, match="line 2"):
        session.run("constant 5->t\nadd t x->t\nconstant 6->t")
    assert session["t"][0, 0] == 5


@pytest.mark.parametrize("text", [
    "div i j->j\nadd i i->j",
    "div i j->j\nloop 2 {\nadd i i->j\nadd i i->k\n}\nmul i i->j",
    "loop 2 {\ndiv i j->j\nadd i k->k\n}\nmul i i->j",
    "loop 1 {\nloop 2 {\ndiv i j->j\nadd i k->k\n}\n}\nmul i i->j",
])  # fmt: skip
def test_a_line_fails_though_what_it_gives_is_overwritten(text):
    """A later line takes what fails out of what the results need: also as one of the states of a block that they need."""
    session = deepx.Session()
    for name, values in {"i": [1, 2], "j": [0, 2], "k": [5, 6]}.items():
        session[name] = np.array(values, np.int32)
    with pytest.raises(CallerError, match="integer division by zero"):
        session.run(text)


def test_a_failure_of_the_data_is_that_of_its_line():
    """Lines run together; the error names the line that divides by zero, and the lines before it have taken effect."""
    session = deepx.Session(seed=3)
    session.run("newtensor@int32 [2]->a\nnewtensor@int32 [2]->b\nnewtensor@int32 [2]->c\nnewtensor@float32 [2]->x\nconstant 8->a")
    with pytest.raises(CallerError, match="^line 4, column 1: integer division by zero") as caught:
        session.run("uniform 0 1->x\nadd_scalar a 1->a\nconstant 5->b\n  div a c->b // id=3\nconstant 1->a".replace("  div", "div"))
    assert caught.value.line == 4 and caught.value.metadata == {"id": "3"}
    assert session["a"].tolist() == [9, 9] and session["b"].tolist() == [5, 5]
    drawn = session["x"]
    failures = session.run("add_scalar a 1->a\ndiv a c->b\nadd_scalar a 1->a\nmod a c->b\ncopytensor a->c\ndiv a c->b", keep_going=True)
    assert [f.line for f in failures] == [2, 4]
    assert session["a"].tolist() == [11, 11] and session["b"].tolist() == [1, 1]
    again = deepx.Session(seed=3)
    again.run("newtensor@float32 [2]->x\nuniform 0 1->x")
    np.testing.assert_array_equal(drawn, again["x"])


def test_the_memory_budget():
    session = deepx.Session(max_memory_bytes=1_400_000)
    with pytest.raises(LimitExceeded, match="^line 1, column 1: float32\\[1000, 1000\\] takes 4000000 bytes; the memory budget is 1400000"):
        session.run("newtensor@float32 [1000 1000]->t")
    session.run("newtensor@float32 [100 1000]->t\nnewtensor@float32 [100 1000]->u\nnewtensor@float32 [200 1000]->w\nconstant 1->t\nconstant 2->u")
    with pytest.raises(LimitExceeded, match="^line 2, column 1: the memory budget of 1400000 bytes"):
        session.run("add_scalar t 1->t\nconcat t u 0->w\nadd_scalar t 1->t")
    assert session["t"][0, 0] == 2
    session.run("deltensor u\nconcat t t 0->w")
    assert session["w"][150, 0] == 2
    with pytest.raises(LimitExceeded):
        session["x"] = np.zeros(1 << 20, np.float32)
    with pytest.raises(LimitExceeded, match="line 1, column 19: .* more than any memory holds"):
        deepx.Session().run("newtensor@float32 [1000000000 1000000000 1000]->t")


def test_random_lines_never_do_harm(session):
    """Lines of random tokens of the language: each gets an error or an effect, and a session goes on."""
    seed = random.randrange(2**32)
    print("seed", seed)
    rng = random.Random(seed)
    words = ["add", "sum", "t", "u", "v", "a", "i", "->", "<-", "(", ")", "[", "]", ",", "@", "float32", "int32", ":", "<", ">", "tensor",
             "0", "1", "-1", "1e400", "nan", '"', "//", "{", "}", "loop", "while", "newtensor", "deltensor", "\xff", "层", " ", "|", "print",
             "concat", "argset", "x", "t_grad", "reshape", "renametensor", "uniform", "1000000", "switch", "save", "load", "%.2f"]  # fmt: skip
    for _ in range(300):
        text = b"\n".join(
            b" ".join(rng.choice(words).encode("latin-1" if rng.random() < 0.1 else "utf-8", "replace") for _ in range(rng.randrange(9)))
            for _ in range(rng.randrange(1, 5))
        )
        for failure in session.run(text, keep_going=True, on_print=lambda shown: None):
            assert str(failure).startswith("line ")
    session["ok"] = np.zeros(2)
    session.run("add_scalar ok 1->ok")
    assert session["ok"].tolist() == [1, 1]


def test_tensors_of_as_many_dims_as_there_may_be(session):
    ones = "[" + "1 " * 64 + "]"
    session.run(f"newtensor@float32 {ones}->x\nuniform 0 1->x\nadd x x->x\ntranspose x [{' '.join(map(str, range(63, -1, -1)))}]->x")
    assert session.kind("x")[2] == (1,) * 64


def test_empty_tensors_of_many_extents_are_shown_at_once(session):
    shown = []
    session.run("newtensor@float32 [1000000000000 0]->x\nprint x\nnewtensor@int8 [" + "2 " * 40 + "0]->y\nprint y", on_print=shown.append)
    assert [text.split("\n")[1:] for text in shown] == [["[]", ""]] * 2


def test_vectors_count_as_memory():
    session = deepx.Session(max_memory_bytes=10_000)
    vector = "argset@float32 " + "1 " * 1000
    session.run("\n".join(f"{vector}->{name}" for name in "ab"))
    with pytest.raises(LimitExceeded, match="^line 1, column 1: the memory budget of 10000 bytes"):
        session.run(f"{vector}->c")
    session.run(f"argdel a\n{vector}->c")  # also within one text: deleting a frees memory for the next line
    assert session.names() == ["b", "c"] and session["c"].sum() == 1000
    with pytest.raises(LimitExceeded):
        session.run("newtensor@float32 [1000]->t")
    session.run("argdel b\nnewtensor@float32 [1000]->t\nconstant 1->t\ndeltensor t\nnewtensor@float32 [1000]->u")
