"""deepx: parsing of lines, in both forms; the errors of bad lines; a line that fails changes nothing."""

import random

import numpy as np
import pytest

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

ERRORS = [
    ("foo t->u", 1, "there is no instruction 'foo'"),
    ("adds t t->u", 1, "did you mean 'add'"),
    ("uniform -3e38 3e38->t", 9, "the distance between -3e\\+38 and 3e\\+38 is more than float32 holds"),
    ("uniform -1e308 1e308->d", 9, "the distance between -1e\\+308 and 1e\\+308 is more than float64 holds"),
    ("add@float32->u", 1, "'add' has 2 inputs, not 0; expected add@T a b -> c"),
    ("add@float32 t->u", 1, "'add' has 2 inputs, not 1"),
    ("add t t", 1, "'add' has 1 output, not 0; expected add@T a b -> c"),
    ("sum t->u", 1, "'sum' has 2 to 3 inputs, not 1"),
    ("add@float32 t t t->u", 17, "'add' has 2 inputs, not 3"),
    ("add@float32 t t->u t", 20, "'add' has 1 output, not 2"),
    ("add@float32 t x->u", 15, "there is no 'x'"),
    ("add@float32 t t->x", 18, "there is no 'x'"),
    ("add@float32 t a->u", 15, "'a' is an argument; expected a tensor"),
    ("add_scalar@float32 t u->u", 22, "'u' is a tensor; expected an argument or a number"),
    ("add_scalar@float32 t v->u", 22, "'v' is a vector; expected an argument or a number"),
    ("add_scalar@float32 t [1 2]->u", 22, "expected a number or an argument as 's'"),
    ("add_scalar i 0.5->i", 14, "int32 does not hold 0.5"),
    ("add_scalar i 3000000000->i", 14, "int32 does not hold 3000000000"),
    ("add@int32 t t->u", 11, "'t' is float32\\[2, 3\\]; expected int32"),
    ("add t d->u", 7, "'d' is float64\\[2, 3\\]; expected float32"),
    ("add@float33 t t->u", 5, "there is no dtype 'float33'"),
    ("add@float8e5m2 t t->u", 5, "dtype 'float8e5m2' is not supported"),
    ("exp@int32 i->i", 5, "'exp' takes float64, float32, float16, bfloat16; int32 is none of them"),
    ("add t i->u", 7, "'i' is int32\\[3\\]; expected float32"),
    ("newtensor [2]->x", 1, "'newtensor' needs a dtype: newtensor@float32"),
    ("newtensor@float32 v->t", 22, "'t' is a tensor already"),
    ("newtensor@float32 v->a", 22, "'a' is an argument already"),
    ("newtensor@float32 v->3", 22, "expected a name"),
    ("newtensor@float32 [2 -3]->x", 19, "the extent -3 is negative"),
    ("newtensor@float32 [" + "1 " * 65 + "]->x", 19, "65 dims; a tensor has at most 64"),
    ("newtensor@float32 [0.5]->x", 20, "int64 does not hold 0.5"),
    ("newtensor@float32 a b->x", 21, "'newtensor' has 1 input, not 2"),
    ("argset@int32 1->t", 17, "'t' is a tensor"),
    ("argset@int32 x->b", 14, "'x' is no number"),
    ("argset@int8 300->b", 13, "int8 does not hold 300"),
    ("argset@bool 2->b", 13, "bool does not hold 2"),
    ("argset@float32->b", 1, "'argset' has 1 or more inputs, not 0"),
    ("argset@int32 +-5->b", 14, "'\\+-5' is no number"),
    ("argset@int32 1->a\x00b", 18, "the control character 0x00 cannot stand in a program"),
    ("argset@int32 1->\x1bb", 17, "the control character 0x1b cannot"),
    ('print t "%\x7f"', 11, "the control character 0x7f cannot"),
    ("add t t->u // \x00", 15, "the control character 0x00 cannot"),
    ("argset 1->b", 1, "'argset' needs a dtype"),
    ("argdel t", 8, "'t' is a tensor; deltensor deletes it"),
    ("argdel x", 8, "there is no 'x'"),
    ("deltensor a", 11, "'a' is an argument; expected a tensor"),
    ("deltensor t->u", 14, "'deltensor' writes nothing"),
    ("copytensor t->d", 15, "'d' is float64\\[2, 3\\] and 't' is float32"),
    ("renametensor u->t", 14, "'u' is a tensor already"),
    ("sum t [2]->u", 7, "there is no dim 2 in a tensor of 2 dims"),
    ("sum t [0 -2]->u", 7, "dim 0 is given twice"),
    ("sum t [0]->u", 12, "'u' is float32\\[2, 3\\], and the result is float32\\[3\\]"),
    ("sum t v->u", 7, "there is no dim 2"),
    ("sum t [0] 2->u", 11, "keepdims: bool does not hold 2"),
    ("sum t [0 x]->u", 10, "'x' is no number"),
    ("matmul t u->u", 1, "'matmul': .*"),
    ("concat t u 2->u", 12, "there is no dim 2"),
    ("reshape t [4]->u", 11, "a has 6 elements, and \\[4\\] 4"),
    ("reshape t [9223372036854775807 9223372036854775807]->u", 11, "more than any memory holds"),
    ("transpose t [0]->u", 13, "an order of 1 dims; a has 2"),
    ("expand t [3 2]->u", 10, "\\[2, 3\\] cannot be expanded to \\[3, 2\\]"),
    ("repeat t [1]->u", 10, "1 repeats; a has 2 dims"),
    ("repeat t [9999999999999999 1]->u", 10, "more than any memory holds"),
    ("repeat t [1 9223372036854775807]->u", 10, "more than any memory holds"),
    ("indexselect t u->u", 15, "'u' is float32\\[2, 3\\]; expected integers"),
    ("switch t u i->u", 12, "takes tensors of one shape"),
    ("constant t->u", 10, "'t' is a tensor; expected an argument or a number"),
    ("arange@int32 a1 a2>t1", 19, "write '->'"),
    ("uniform 4 3->t", 9, "there is nothing in \\[4, 3\\); expected the lower bound first: uniform 3 4"),
    ("uniform 3 3->i", 9, "there is nothing in \\[3, 3\\); the upper bound is not drawn, but those below it are"),
    ("uniform 0 inf->t", 11, "inf is no bound; expected a finite number"),
    ("uniform nan 1->t", 9, "nan is no bound"),
    ("normal 0 -1->t", 10, "the deviation is -1; expected 0 or more"),
    ("normal 0 nan->t", 10, "the deviation is nan; expected 0 or more"),
    ("normal inf 1->t", 8, "the mean is inf; expected a finite number"),
    ("dropout 2->t", 9, "2 is no probability; expected a number from 0 to 1"),
    ("dropout -0.5->t", 9, "-0.5 is no probability"),
    ("settensor [1 2]->u", 11, "2 values; the tensor is \\[2, 3\\]"),
    ("add t t<-u", 10, "there is no 'u_grad'"),
    ("add t(t_grad) t<-u()", 18, "the gradient of 'u' is missing"),
    ("add t(i) t<-u(t_grad)", 7, "the gradient 'i' is int32\\[3\\], and 't' is float32\\[2, 3\\]"),
    ("add t(a) t<-u(t_grad)", 7, "'a' is an argument; expected a tensor"),
    ("add t t()<-u(t_grad)", 1, "no gradient is wanted"),
    ("add_scalar t(t_grad) a(t_grad)<-u(t_grad)", 24, "'a' is no tensor, and has no gradient"),
    ("add i(i) i<-i(i)", 13, "'i' is int32\\[3\\]; only floats have gradients"),
    ("newtensor@float32 v<-x", 1, "'newtensor' has no gradient; '<-' is for: add, "),
    ("less t t<-u", 1, "'less' has no gradient"),
    ("add t t -> u -> u", 14, "unexpected '->'"),
    ("add t t -> u )", 14, "unexpected '\\)'"),
    ("add(t t) -> (u)", 7, "expected ',', not 't'"),
    ("add(t, t -> (u)", 10, "expected ',', not '->'"),
    ("add(t,, t) -> (u)", 7, "expected an operand or '\\)', not ','"),
    ("add(t, t) -> (u", 16, "expected ',', not the end of the line"),
    ("add t [t -> u", 10, "expected a name, a number or '\\]', not '->'"),
    ("add t(t_grad t<-u(u_grad)", 14, "expected '\\)', not 't'"),
    ("add(vector<float32>:t, t)->(u)", 5, "'a' of 'add' is a tensor, not a vector"),
    ("add(tensor<int32>:t, t)->(u)", 12, "'t' is float32\\[2, 3\\]"),
    ("add(tensr<int32>:t, t)->(u)", 5, "there is no category 'tensr'"),
    ("add(tensor<int32:t, t)->(u)", 17, "expected '>', not ':'"),
    ("-> u", 1, "expected the name of an instruction, not '->'"),
    ("add@ t t->u", 1, "'add' has 2 inputs, not 1"),
    ('print "t', 7, "the text in quotes has no end"),
    ("print t x", 9, "'x' is no format"),
    ("print t %d", 9, "'%d' is no format of floats"),
    ("print i %.2f", 9, "'%.2f' is no format of int32; expected one as %d"),
    ("print i %.2d", 9, "'%.2d' is no format of int32"),
    ("print t %.2f}{", 13, "unexpected '}'"),
    ("print t {", 1, "there is no block 'print'; blocks begin with: loop n"),
    # Typed operands that are not tensors, or have another type.
    ("print@int8 t", 7, "'t' is float32; expected int8"),
    ("print(tensor<int8>:t)", 14, "'t' is float32"),
    ("print(var<float32>:t)", 7, "'t' is a tensor, not a var"),
    ("print(t, var<int8>:%.2f)", 14, "'format' of 'print' is a string"),
    ("argdel@int8 a", 8, "'a' is float32; expected int8"),
    ("argdel(var<int32>:v)", 8, "'v' is a vector, not a var"),
    ("copytensor(tensor<float32>:t)->(tensor<float64>:cc)", 40, "'cc' is float32"),
    ("copytensor(t)->(vector<int8>:vv)", 17, "'vv' is a tensor, not a vector"),
    ("renametensor(tensor<int8>:n)->(t)", 21, "'n' is float32"),
    ("newtensor@int32(vector<int32>:[2])->(tensor<float32>:mm)", 45, "'mm' is int32"),
    ("newtensor([2])->(tensor<float33>:mm)", 25, "there is no dtype 'float33'"),
    ("argset(var<float64>:2)->(var<int32>:q)", 30, "'q' is float64"),
    ("argset@int32(2)->(vector<int32>:q)", 19, "'q' is an argument, not a vector"),
    ("argset@int32(var<float64>:2)->(q)", 18, "'number' of 'argset' is int32"),
    ("argset(var<int32>:2, var<int8>:3)->(q)", 26, "'number' of 'argset' is int32"),
    ("vecset@int32(2)->(var<int32>:q)", 19, "'q' is a vector, not a var"),
    ("add_scalar(t, var<int8>:a)->(u)", 19, "'a' is float32"),
    ("add_scalar(t, var<int80>:2)->(u)", 19, "there is no dtype 'int80'"),
    ("add_scalar(t, var<int8>:300)->(u)", 15, "s: int8 does not hold 300"),
    ("sum(t, vector<int8>:[0 300])->(u)", 24, "dims: int8 does not hold 300"),
    ("sum(t, vector<int32>:[0], var<float32>:2)->(u)", 27, "'2' is 2, which bool does not hold"),
    ("newtensor@int32(vector<int64>:v)->(w)", 24, "'v' is int32"),
    ("层 t->u", 1, "there is no instruction '层'"),
    ("add 层 t->u", 5, "there is no '层'"),
    ("add 层 x->u", 5, "there is no '层'"),
    ("add t 层->u ]", 12, "unexpected '\\]'"),  # columns count characters
    ("}", 1, "'}' without a block that it ends"),
    ("save t t.npy", 8, "files are refused"),
    ("load t.npy->x", 6, "files are refused"),
    ("loadtensordata t->t", 16, "files are refused"),
]


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
