"""Requests to `rondel serve`: Rondel and ONNX Runtime behind the same server; one table.

    ./dev bench serving                1,000 requests a second, and then as many as the server answers
    ./dev bench serving --only loop    workloads whose names contain "loop" (may be given again)
    ./dev bench serving --quick        two rounds of a second instead of five of four

Each server is a process that is bound to one core; the client is bound to another, if there is one. Requests come over HTTP, with
binary tensors, on 16 connections that stay open. At the fixed rate a request has its time whether the one before is answered or not,
and its latency counts from then: a server that stalls does not slow the client down. `requests a second` is the rate if all connections
are always busy, and the CPU time is the server's, of all its threads, at that rate. The engines take turns, round by round. Exit code: 0; 1
if Rondel's p99 is above 5 ms at the fixed rate, or its server answers fewer requests.
"""

import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx.parser
import uvloop
from commands import ENGINES, Parser, Table, at_least_one, machine, measuring, require

CONNECTIONS = 16


def perceptron():
    """Two layers, f32[1,64] in and f32[1,8] out: (model, input)."""
    random = np.random.default_rng(0)
    made = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 21]>
      mlp (float[b,64] x) => (float[b,8] y) { h = MatMul (x, u) r = Relu (h) z = MatMul (r, v) y = Softmax (z) }""")
    for name, shape in (("u", (64, 64)), ("v", (64, 8))):
        made.graph.initializer.append(onnx.numpy_helper.from_array(random.standard_normal(shape, np.float32) / 8, name))
    return made, random.standard_normal((1, 64), np.float32)


def loop():
    """A loop of 100 trips over a state f32[1,64], 3 ops each: (model, input)."""
    made = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 21]>
      loop (float[b,64] x) => (float[b,64] y) <int64 n = {100}, float half = {0.5}> { yes = Constant <value = bool {1}> ()
        y = Loop (n, yes, x) <body = l (int64 i, bool go, float[b,64] s) => (bool on, float[b,64] z) {
          c = Tanh (s) d = Mul (c, half) z = Add (d, x) on = Identity (go) }> }""")
    return made, np.random.default_rng(0).standard_normal((1, 64), np.float32)


WORKLOADS = {"perceptron": perceptron, "loop": loop}


class Serving:
    """A server in a process of its own, on one core."""

    def __init__(self, model, engine, core):
        command = [sys.executable, "-m", "rondel_cli.main", "serve", f"m={model}", "--engine", engine, "--port", "0", "--no-grpc"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.sched_setaffinity(0, {core}))
        for line in self.process.stdout:
            if line.startswith("http  "):
                self.host, self.port = re.search(r"http://(\S+):(\d+)", line).groups()
                return
        self.stop()
        raise SystemExit(f"the server with {engine} did not start: see above")

    def cpu_seconds(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Connection(asyncio.Protocol):
    """One request at a time; `answer` is the body of the latest answer."""

    def connection_made(self, transport):
        self.transport, self.data, self.done = transport, b"", None

    def ask(self, request):
        self.done = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return self.done

    def data_received(self, data):
        self.data += data
        end = self.data.find(b"\r\n\r\n")
        if end < 0:
            return
        size = int(re.search(rb"content-length: (\d+)", self.data[:end], re.IGNORECASE).group(1))
        if len(self.data) >= end + 4 + size:
            if not self.data.startswith(b"HTTP/1.1 200"):
                raise SystemExit(f"a request failed: {self.data!r:.300}")
            self.answer, self.head, self.data = self.data[end + 4 :], self.data[:end], b""
            self.done.set_result(None)


def request_of(x):
    said = {"inputs": [{"name": "x", "datatype": "FP32", "shape": list(x.shape), "parameters": {"binary_data_size": x.nbytes}}],
            "parameters": {"binary_data_output": True}}  # fmt: skip
    text = json.dumps(said).encode()
    head = f"POST /v2/models/m/infer HTTP/1.1\r\nHost: x\r\nInference-Header-Content-Length: {len(text)}\r\nContent-Length: {len(text) + x.nbytes}\r\n\r\n"
    return head.encode() + text + x.tobytes()


def output_of(connection):
    length = int(re.search(rb"inference-header-content-length: (\d+)", connection.head, re.IGNORECASE).group(1))
    return np.frombuffer(connection.answer[length:], np.float32)


async def connect(server):
    loop = asyncio.get_running_loop()
    return [(await loop.create_connection(Connection, server.host, server.port))[1] for _ in range(CONNECTIONS)]


async def at_rate(connections, request, rate, seconds):
    """The latencies, in seconds, of requests at a fixed rate."""
    free, latencies, tasks = asyncio.Queue(), [], []
    for c in connections:
        free.put_nowait(c)
    begin = time.perf_counter()

    async def one(due):
        c = await free.get()
        await c.ask(request)
        free.put_nowait(c)
        latencies.append(time.perf_counter() - due)

    for k in range(int(rate * seconds)):
        due = begin + k / rate
        if (early := due - time.perf_counter()) > 0:
            await asyncio.sleep(early)
        tasks.append(asyncio.ensure_future(one(due)))
    await asyncio.gather(*tasks)
    return latencies


async def at_most(server, connections, request, seconds):
    """(requests a second, CPU seconds of the server for one), if each connection asks again as soon as it has its answer."""
    end, count, spent = time.perf_counter() + seconds, 0, server.cpu_seconds()

    async def one(c):
        nonlocal count
        while time.perf_counter() < end:
            await c.ask(request)
            count += 1

    begin = time.perf_counter()
    await asyncio.gather(*map(one, connections))
    return count / (time.perf_counter() - begin), (server.cpu_seconds() - spent) / count


async def measure(name, rate, rounds, seconds):
    """{engine: (all latencies at the rate, medians of the most and of its CPU seconds)}; the engines take turns."""
    model, x = WORKLOADS[name]()
    cores = sorted(os.sched_getaffinity(0))
    request = request_of(x)
    found = {engine: ([], []) for engine in ENGINES}
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(model, f"{folder}/m.onnx")
        servers = {}
        try:
            for engine in ENGINES:
                servers[engine] = Serving(f"{folder}/m.onnx", engine, cores[0])
            os.sched_setaffinity(0, {cores[-1]})
            connections = {engine: await connect(server) for engine, server in servers.items()}
            outputs = {}
            for engine in ENGINES:
                await at_most(servers[engine], connections[engine], request, 1.0)  # warms up: large batches, then small ones
                await at_rate(connections[engine], request, rate, 1.0)
                outputs[engine] = output_of(connections[engine][0])
            np.testing.assert_allclose(outputs["rondel"], outputs["onnxruntime"], rtol=1e-4, atol=1e-5)
            for order in measuring.turns(ENGINES, rounds):
                for engine in order:
                    found[engine][0].extend(await at_rate(connections[engine], request, rate, seconds))
                    found[engine][1].append(await at_most(servers[engine], connections[engine], request, seconds))
        finally:
            os.sched_setaffinity(0, set(cores))
            for server in servers.values():
                server.stop()
    return {engine: (latencies, *map(statistics.median, zip(*most))) for engine, (latencies, most) in found.items()}


def main(arguments=None):
    parser = Parser("serving", __doc__, WORKLOADS)
    parser.add_argument("--rate", type=at_least_one, default=1000, metavar="N", help="requests a second (1000)")
    parser.add_argument("--quick", action="store_true", help="two rounds of a second")
    options = parser.parse_args(arguments)
    require(*ENGINES)
    rounds, seconds = (2, 1.0) if options.quick else (5, 4.0)
    print(f"Latencies in ms at {options.rate:,} requests a second; the most requests a second, and us of CPU time for each.")
    table = Table("workload", WORKLOADS, "engine", "median", "p90", "p99", "most", "requests", "us CPU")
    slow = []
    for name in options.rows:
        for engine, (latencies, most, cpu) in uvloop.run(measure(name, options.rate, rounds, seconds)).items():
            *shares, longest = np.percentile(latencies, [50, 90, 99, 100]) * 1e3
            table.add(name, engine, *(f"{ms:.2f}" for ms in (*shares, longest)), f"{most:,.0f}", f"{cpu * 1e6:.0f}")
            if engine == "rondel" and (shares[-1] > 5 or most < options.rate):
                slow.append(f"{name}: p99 {shares[-1]:.1f} ms, {most:,.0f} requests a second; expected under 5 ms and {options.rate:,} or more")
    print(machine())
    for line in slow:
        print(line, file=sys.stderr)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
