"""Random deepx programs: run at once, line by line, in a block and by the interpreter, they give the same bits and fail at
the same lines; forward lines agree with NumPy."""

import os
import random

import numpy as np
from models import check_mode
from rondel import deepx

COUNT = int(os.environ.get("RONDEL_DEEPX", "60"))
SHAPE = (2, 3)
BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
WITH_SCALAR = {
    "add_scalar": np.add, "mul_scalar": np.multiply, "max_scalar": np.maximum, "min_scalar": np.minimum, "sub_scalar": np.subtract,
}  # fmt: skip
UNARY = {"sin": np.sin, "cos": np.cos}


class Program:
    """A random program, and the NumPy result of its forward lines."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        draw = np.random.default_rng(seed)
        self.start = {name: draw.uniform(-2, 2, SHAPE) for name in "abcd"}
        self.start |= {name + "_grad": draw.uniform(-1, 1, SHAPE) for name in "abcd"}
        self.integers = {name: draw.integers(-3, 4, SHAPE).astype(np.int32) for name in "ij"}
        self.lines = []

    def name(self):
        return self.rng.choice("abcd")

    def forward(self):
        kind = self.rng.random()
        x, y, z = self.name(), self.name(), self.name()
        if kind < 0.5:
            return f"{self.rng.choice(list(BINARY))} {x} {y}->{z}"
        if kind < 0.8:
            return f"{self.rng.choice(list(WITH_SCALAR))} {x} {self.rng.choice(['s', '0.5', '-1.25'])}->{z}"
        return f"{self.rng.choice(list(UNARY))} {x}->{z}"

    def backward(self):
        op, _, output = self.forward().partition("->")
        words = op.split()
        tensors = [w if w not in "abcd" else f"{w}({w}_grad)" for w in words[1:]]
        if len(tensors) == 2 and self.rng.random() < 0.3 and "(" in tensors[1]:
            tensors[1] = words[2]
        return f"{words[0]} {' '.join(tensors)}<-{output}({output}_grad)"

    def line(self, in_block=False):
        kind = self.rng.random()
        if kind < 0.45:
            return self.forward()
        if kind < 0.7:
            return self.backward()
        if kind < 0.75 and not in_block:
            return f"argset@float64 {self.rng.uniform(-2, 2):.3f}->s"
        if kind < 0.8 and not in_block:
            return self.rng.choice([f"copytensor {self.name()}->{self.name()}", "deltensor w\nnewtensor@float64 [2 3]->w", "print a"])
        if kind < 0.85:
            return f"add {self.name()} w->w"
        if kind < 0.9:
            return f"{self.rng.choice(['div', 'mod', 'add', 'mul'])} {self.rng.choice('ij')} {self.rng.choice('ij')}->{self.rng.choice('ij')}"
        if kind < 0.93:
            return f"{self.rng.choice(['uniform -1 1', 'normal 0 1'])}->{self.name()}"
        # Keeps numbers in range.
        return f"max_scalar {self.name()} -2->{self.name()}\nmin_scalar a 2->a\nsin b->b\nsin c->c\nsin d->d"

    def text(self):
        lines = []
        for _ in range(self.rng.randrange(3, 25)):
            if self.rng.random() < 0.1:
                body = "\n".join(self.line(in_block=True) for _ in range(self.rng.randrange(1, 5)))
                lines.append(f"loop {self.rng.randrange(4)} {{\n{body}\n}}")
            else:
                lines.append(self.line())
        return "\n".join(lines)

    def session(self, **options):
        session = deepx.Session(seed=7, **options)
        for name, value in (self.start | self.integers).items():
            session[name] = value
        session.run("argset@float64 0.75->s\nnewtensor@float64 [2 3]->w")
        return session


def statements(text):
    """The program split into parts that can run one by one."""
    parts, now = [], []
    for line in text.split("\n"):
        now.append(line)
        if not deepx.ends_in_block("\n".join(now)):
            parts.append("\n".join(now))
            now = []
    return parts


def result(session, texts):
    """(values, number of failed statements, printed text)"""
    shown = []
    failures = [f for text in texts for f in session.run(text, keep_going=True, on_print=shown.append)]
    return {name: session[name] for name in session}, [f.message for f in failures], shown


def same(first, second):
    assert first[1:] == second[1:]
    assert first[0].keys() == second[0].keys()
    for name, value in first[0].items():
        np.testing.assert_array_equal(value, second[0][name], err_msg=name)


def test_programs_give_the_same_however_they_run():
    begin = random.randrange(2**32)
    for seed in range(begin, begin + COUNT):
        program = Program(seed)
        text = program.text()
        print(f"seed {seed}\n{text}")
        with np.errstate(all="ignore"):
            at_once = result(program.session(), [text])
            same(at_once, result(program.session(), statements(text)))
            same(at_once, result(program.session(jit=False), [text]))
            same(at_once, result(program.session(), [deepx.formatted(text)]))
            with check_mode():
                same(at_once, result(program.session(), [text]))


def test_a_block_gives_what_its_lines_give():
    begin = random.randrange(2**32)
    for seed in range(begin, begin + COUNT // 3):
        program = Program(seed)
        body = "\n".join(program.line(in_block=True) for _ in range(program.rng.randrange(1, 8)))
        body = "\n".join(line for line in body.split("\n") if not line.startswith(("uniform", "normal", "div", "mod")))
        print(f"seed {seed}\n{body}")
        same(result(program.session(), [f"loop 3 {{\n{body}\n}}"]), result(program.session(), [body] * 3))


def test_forward_lines_against_numpy():
    begin = random.randrange(2**32)
    for seed in range(begin, begin + COUNT):
        program = Program(seed)
        lines = [program.forward() for _ in range(12)]
        print(f"seed {seed}", *lines, sep="\n")
        values = {name: program.start[name] for name in "abcd"} | {"s": 0.75}
        for line in lines:
            words, _, output = line.partition("->")
            op, *operands = words.split()
            read = [values[w] if w in values else float(w) for w in operands]
            values[output] = (BINARY | WITH_SCALAR | UNARY)[op](*read)
        session = program.session()
        session.run("\n".join(lines))
        for name in "abcd":
            np.testing.assert_allclose(session[name], values[name], 1e-9, 1e-12, err_msg=name)
