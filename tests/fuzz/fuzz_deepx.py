"""A fuzzer of deepx: mutated programs at the server's handler and at the parser.

    ./dev fuzz deepx [SECONDS] [--seed N]      (60 seconds, a seed that is printed)
    ./dev fuzz deepx --replay build/fuzz/round.jsonl

The corpus begins with lines of the tests and examples. An input whose answer has a new form is added to the corpus, so the search
continues from inputs that reached new behaviour. Inputs run in a child process, in rounds of one session each. A round is written to a file
before it runs, so that a round that crashes, hangs or breaks a rule below can be replayed. The exit code is then 1.
"""

import argparse
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

from deepx_errors import ERRORS

import rondel
from rondel import deepx

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROUND = ROOT / "build" / "fuzz" / "round.jsonl"
PER_ROUND = 100  #: datagrams in one session
LONGEST = 300  #: seconds that a round may take before it counts as hanging
MOST_KEPT = 4000

LINES = [
    "argset@int32 2 3->v", "argset@float32 0.5->a", "newtensor@float32 v->t", "newtensor@float32 v->g", "deltensor t", "constant 1->t",
    "arange 0 a->t", "uniform 0 1->t", "add t t->t", "mul@float32 t(g) t(g)<-t(g)", "div_scalar t 0->t", "sum t [0 1]->s", "print t",
    "newtensor@int64 [999999999 999999999]->h", "save t \"f\"", "load \"f\"->t", "while t {", "loop 3 {", "}", "reshape t [6]->g",
    "add(tensor<float32>:t, var<float32>:0.5) -> (tensor<float32>:g) //id=2 created_at=1", "argdel a", "renametensor t->q", "newtensor@int32 [2]->i",
    "div i i->i", "mod_scalar i 0->i", "concat t t 0->t", "log t->t //id=", "todtype t->i", "loop 3 -> i {\nadd t t->t\n}",
    "newtensor@bool []->go\nwhile go 5 {\nconstant true->go\n}", "loadtensordata t.npy->t", "save t t.npy",
]  # fmt: skip
WORDS = [
    "t", "g", "i", "a", "v", "go", "s", "x", "", "0", "-1", "1", "2", "64", "-0", "1e400", "-1e-400", "nan", "inf", "127", "128", "-129", "32768", "2147483648",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "0.1", "true", "false", "[]", "[0]", "[-1]", "[0 1]", "[1 0]", "[2 3]",
    "[2 3 0]", "[[", "]", "(", ")", "{", "}", "<", ">", "->", "<-", "//", "@", ":", ",", "|", '"', "=", "#", "any", "float64", "float32", "float16",
    "bfloat16", "int64", "int32", "int16", "int8", "bool", "uint8", "string", "tensor:", "var<int8>:", "vector<int32>:", "listtensor<float32>:", "t(g)",
    "t()", "[t g]", "loop", "while", "%.2f", "%d", "../x.npy", "t.npy", "\xff", "\0", "层", "\ufeff", "\r", "\t",
]  # fmt: skip


def seeds():
    """The initial corpus."""
    examples = [path.read_text() for path in sorted((ROOT / "examples" / "deepx").glob("*.deepx"))]
    rows = [re.sub(r" \.\.\.|[\[\]]", "", usage.replace("@T", "@float32")) for row in deepx.instructions() for usage in (row.usage, row.backward)]
    texts = LINES + rows + [line for line, _, _ in ERRORS] + [line for text in examples for line in text.splitlines()] + examples
    return [text.encode() for text in texts if text]


def mutated(rng, corpus):
    """A datagram: the lines of a few inputs of the corpus, with bytes, words and lines changed."""
    text = bytearray(b"\n".join(rng.choice(corpus) for _ in range(rng.choice([1, 1, 2, 3, 8])))[:65_507])
    for _ in range(rng.choice([0, 1, 1, 2, 3, 20])):
        rng.choice([_change_bytes, _change_word, _change_word, _change_lines])(rng, text)
    return bytes(text[:65_507])


def _change_bytes(rng, text):
    at = rng.randrange(len(text) + 1)
    kind = rng.randrange(3)
    if kind == 0:
        del text[at : at + rng.randrange(1, 4)]
    elif kind == 1:
        text[at:at] = bytes([rng.choice([rng.randrange(256), *b'->()[]{}<>,:|@"/= \n\0'])])
    elif text:
        text[at % len(text)] = rng.randrange(256)


def _change_word(rng, text):
    words = list(re.finditer(rb"[^\s()\[\]<>,:|@{}]+", text))
    if words:
        word = rng.choice(words)
        other = rng.choice(words).group() if rng.random() < 0.3 else rng.choice(WORDS).encode("latin-1", "ignore")
        text[word.start() : word.end()] = other


def _change_lines(rng, text):
    lines = text.split(b"\n")
    kind, line = rng.randrange(4), rng.randrange(len(lines))
    if kind == 0:
        lines.insert(rng.randrange(len(lines) + 1), lines[line])
    elif kind == 1:
        del lines[line]
    elif kind == 2:
        lines[line : line + 1] = [b"loop 2 {", lines[line], b"}"]
    else:
        lines[line] = lines[line] * rng.choice([2, 50])
    text[:] = b"\n".join(lines)


def state(session):
    """The name, type and bytes of each value of the session."""
    return {name: (session.kind(name), session[name].tobytes()) for name in session}


def check(session, server, text):
    """Runs a datagram. Raises AssertionError if a rule is broken. Returns the answers without their names and numbers."""
    try:
        formatted = deepx.formatted(text)
        assert deepx.formatted(formatted) == formatted, "a program that is printed is another program"
    except rondel.CallerError as error:
        assert re.match(r"line \d+, column \d+: ", str(error)), f"an error without a place: {error}"
    before = state(session)
    answers = server.answers(text)
    for answer in answers:
        assert re.fullmatch(rb"\S* (ok|error .+)", answer) and len(answer) <= 65_507, f"the answer {answer!r}"
    if answers and all(b" error " in answer[:40] for answer in answers):
        assert state(session) == before, "lines that failed have changed something"
    return {re.sub(rb"'[^']*'|(?<![\w-])[-+]?\d[\w.+-]*", b"", answer) for answer in answers}


def run_round(texts, folder):
    """Runs datagrams in one session; yields the result of `check` for each."""
    session = deepx.Session(folder, 1 << 22, seed=1, max_trips=1000, threads=1)
    with deepx.Server(session, "127.0.0.1:0", on_print=lambda text: None, deadline=0.5) as server:
        for text in texts:
            yield check(session, server, text)
        assert server.answers(b"argset@int32 1->still_alive //id=5") == [b"5 ok"]


def work(seed, seconds):
    """Runs rounds until the time is over."""
    rng, corpus, known, count = random.Random(seed), seeds(), set(), 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        texts = [mutated(rng, corpus) for _ in range(PER_ROUND)]
        ROUND.write_text("".join(json.dumps(text.decode("latin-1")) + "\n" for text in texts))
        with tempfile.TemporaryDirectory() as around:
            folder = pathlib.Path(around) / "below"
            folder.mkdir()
            for text, forms in zip(texts, run_round(texts, folder)):
                if not forms <= known and len(corpus) < MOST_KEPT and len(text) < 2000:
                    corpus.append(text)
                known |= forms
            assert [path.name for path in pathlib.Path(around).iterdir()] == ["below"], "a file was written outside of the folder"
        count += len(texts)
    print(f"{count} datagrams, {len(known)} forms of answers, {len(corpus)} inputs kept", flush=True)


def replay(file):
    texts = [json.loads(line).encode("latin-1") for line in pathlib.Path(file).read_text().splitlines()]
    with tempfile.TemporaryDirectory() as folder:
        for text, forms in zip(texts, run_round(texts, folder)):
            print(text, forms)


def supervise(seed, seconds):
    """Runs `work` in a child process; returns the exit code."""
    print(f"seed {seed}, {seconds} seconds", flush=True)
    ROUND.parent.mkdir(parents=True, exist_ok=True)
    ROUND.write_text("")
    worker = subprocess.Popen([sys.executable, "-m", "fuzz", "deepx", str(seconds), "--seed", str(seed), "--worker"])
    try:
        while worker.poll() is None:
            time.sleep(0.2)
            if time.time() - ROUND.stat().st_mtime > LONGEST:
                print(f"no round has ended for {LONGEST} seconds")
                break
    finally:
        worker.kill()
        worker.wait()
    if worker.returncode == 0:
        return 0
    print(f"the worker ended with {worker.returncode}; again: ./dev fuzz deepx --replay {ROUND}")
    return 1


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="./dev fuzz deepx", description="Fuzzes the deepx parser and server.")
    parser.add_argument("seconds", nargs="?", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--replay", metavar="FILE", help="run a round again")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.replay:
        return replay(options.replay)
    if options.worker:
        return work(options.seed, options.seconds)
    return supervise(options.seed, options.seconds)
