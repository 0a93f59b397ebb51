"""`rondel deepx serve`: every line of a datagram is answered, and no datagram ends the server."""

import os
import random
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from fuzz import fuzz_deepx
from rondel import CallerError, deepx

TESTS = Path(fuzz_deepx.__file__).parents[1]
PATHS = f"{TESTS}:{TESTS / 'python' / 'helpers'}"  #: those of ./dev fuzz
COUNT = int(os.environ.get("RONDEL_DATAGRAMS", "400"))


@pytest.fixture
def server():
    with deepx.Server(deepx.Session(max_memory_bytes=1 << 24, max_trips=1000), "127.0.0.1:0", on_print=lambda _: None) as made:
        yield made


def test_each_line_gets_an_answer_by_its_id(server):
    answers = server.answers(b"argset@int32 2 3->v //id=7 created_at=1\n\n// nothing\nnewtensor@float32 v->t\nadd t u->t //id=9\n")
    assert answers == [b"7 ok", b"0 ok", b"9 error line 5, column 7: there is no 'u'; did you mean 't'?"]


def test_an_empty_id_is_none(server):
    assert server.answers(b"argset@int32 2->a //id=") == [b"0 ok"]


def test_output_that_nobody_reads_does_not_end_the_server():
    def closed(text):
        raise BrokenPipeError("nobody reads")

    with deepx.Server(deepx.Session(), "127.0.0.1:0", on_print=closed) as server:
        assert b"0 error nobody reads" in server.answers(b"argset@int32 2->a\nprint a")
        assert server.answers(b"argset@int32 2->a //id=4") == [b"4 ok"]


def test_a_block_is_answered_once_and_an_open_one_is_an_error(server):
    assert server.answers(b"newtensor@int32 [1]->n") == [b"0 ok"]
    assert server.answers(b"loop 5 { //id=1\nadd_scalar n 1->n\n}") == [b"1 ok"]
    (answer,) = server.answers(b"loop 5 {\nadd_scalar n 1->n")
    assert answer.startswith(b"0 error ") and b"no end" in answer


def test_a_loop_without_an_end_does_not_end_the_server():
    with deepx.Server(deepx.Session(), "127.0.0.1:0", deadline=0.2) as server:
        text = b"newtensor@bool []->go //id=1\nconstant true->go //id=2\nnewtensor@int8 []->n //id=3\nprint n //id=4\nwhile go { //id=5\nadd_scalar n 1->n\n}"
        answers = server.answers(text)
        assert answers[:4] == [b"1 ok", b"2 ok", b"3 ok", b"4 ok"] and len(answers) == 5
        assert answers[4].startswith(b"0 error") and b"deadline" in answers[4]
        assert server.answers(b"add_scalar n 1->n //id=6\nprint n //id=7") == [b"6 ok", b"7 ok"]
    for wrong in (-1, "soon", float("nan")):
        with pytest.raises(CallerError, match="^deadline is .*; expected a time in seconds"):
            deepx.Server(deepx.Session(), "127.0.0.1:0", deadline=wrong)


def test_over_the_network(server):
    """Two clients, one session; a datagram of almost 64 KiB."""
    thread = threading.Thread(target=lambda: [server.serve_one() for _ in range(3)])
    thread.start()
    host, port = server.address.split(":")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as first, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as second:
        for client in (first, second):
            client.settimeout(60)
            client.connect((host, int(port)))
        first.send(b"newtensor@float32 [3]->t //id=1")
        assert first.recv(100) == b"1 ok"
        long = "// " + "x" * 65_000 + "\nconstant 2->t //id=2"
        second.send(long.encode())
        assert second.recv(100) == b"2 ok"
        second.send(b"add t t->t //id=3\nsub t q->t //id=4")
        assert (second.recv(100), second.recv(200).split()[:2]) == (b"3 ok", [b"4", b"error"])
    thread.join()


def test_answers_are_no_longer_than_a_datagram(server):
    (answer,) = server.answers(b"add " + b"\xc3\xa9" * 32_000 + b"->t")
    assert len(answer) <= 65_507


@pytest.mark.parametrize("address", ["", "8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:-1", ":80", "127.0.0.1:²", "127.0.0.1:" + "1" * 5000])
def test_wrong_addresses(address):
    with pytest.raises(CallerError, match="expected HOST:PORT"):
        deepx.Server(deepx.Session(), address)


@pytest.mark.parametrize("host", ["a" * 100, "\ud800", "no.such.host.invalid"])
def test_hosts_that_there_are_not(host):
    with pytest.raises(CallerError, match="there is no host"):
        deepx.Server(deepx.Session(), f"{host}:80")


def test_an_address_that_is_taken_is_named():
    with deepx.Server(deepx.Session(), "127.0.0.1:0") as first, pytest.raises(CallerError, match=f"'{first.address}': "):
        deepx.Server(deepx.Session(), first.address)


def test_random_datagrams(tmp_path):
    seed = int(os.environ.get("RONDEL_SEED", "1"))
    rng, corpus = random.Random(seed), fuzz_deepx.seeds()
    texts = [fuzz_deepx.mutated(rng, corpus) for _ in range(COUNT)]
    rounds = fuzz_deepx.run_round(texts, tmp_path)
    for k, text in enumerate(texts):
        try:
            next(rounds)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, datagram {k}: {text!r}: {error}") from error
    assert next(rounds, None) is None


def test_the_fuzzer_says_how_to_run_a_failure_again(tmp_path):
    def fuzz(*arguments):
        command = [sys.executable, "-m", "fuzz", "deepx", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": PATHS})

    done = fuzz("0.1", "--seed", "7")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.match(r"seed 7, 0.1 seconds\n\d+ datagrams, ", done.stdout)
    (tmp_path / "round.jsonl").write_text('"add x x->x //id=3\\u00ff"\n')
    done = fuzz("--replay", tmp_path / "round.jsonl")
    assert done.returncode == 0 and "is not UTF-8" in done.stdout, done.stdout + done.stderr


def test_the_fuzzer_finds_what_breaks_its_rules():
    class Wrong:
        def answers(self, text):
            session.run(b"newtensor@float32 [1]->more")
            return [b"0 error nothing has changed"]

    session = deepx.Session()
    with pytest.raises(AssertionError, match="have changed something"):
        fuzz_deepx.check(session, Wrong(), b"add t t->t")
    Wrong.answers = lambda self, text: [b"what?"]
    with pytest.raises(AssertionError, match="the answer b'what"):
        fuzz_deepx.check(session, Wrong(), b"add t t->t")


def test_the_command_serves_until_it_is_interrupted():
    command = [sys.executable, "-m", "rondel_cli.main", "deepx", "serve", "--udp", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        port = int(re.match(r"listening on udp 127.0.0.1:(\d+);", process.stdout.readline())[1])
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(60)
            client.sendto(b"newtensor@float32 [2]->t\nprint t //id=8", ("127.0.0.1", port))
            assert (client.recv(100), client.recv(100)) == (b"0 ok", b"8 ok")
        process.send_signal(2)
        shown, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert shown == "t: float32[2]\n[0, 0]\n"


def test_the_tensors_are_those_of_the_session():
    session = deepx.Session()
    with deepx.Server(session, "127.0.0.1:0") as server:
        server.answers(b"newtensor@float32 [2]->t\nconstant 3->t")
    np.testing.assert_array_equal(session["t"], np.float32([3, 3]))
