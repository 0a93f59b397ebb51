"""`rondel serve`: models behind HTTP and gRPC, by the Open Inference Protocol."""

import argparse
import dataclasses
import logging
import os
import pathlib
import re
import sys

from rondel.texts import render

from .exit_codes import UsageError
from .numbers import at_least_one, count, seconds
from .table import add_ops_options, coloured

_TOKEN = "RONDEL_SERVE_TOKEN"


def add_to(commands):
    parser = commands.add_parser(
        "serve",
        help="serve models over HTTP and gRPC",
        description="Serves models by the Open Inference Protocol v2, over HTTP and gRPC: the clients of Triton and KServe work unchanged.\n"
        "Stops at SIGTERM or Ctrl-C, when the requests under way are answered. Needs the extra: pip install 'rondel[serve]'",
        epilog="examples:\n"
        "  rondel serve root.onnx                               http://127.0.0.1:8000/v2/models/root/infer\n"
        "  rondel serve digits=knn.onnx speech=vad.onnx         two models, by other names\n"
        "  rondel serve decoder.onnx --batch on --max-batch 16  rows of several requests in one run: you say that they do not mix\n"
        "  rondel serve vad.onnx --state state=stateN           what a sequence carries from one request to the next\n"
        "  rondel serve --repository models/                    NAME.onnx in models/; loaded and removed by /v2/repository\n"
        "  rondel serve m.onnx --deadline 0.5 --max-trips 10000 --max-memory 100000000\n"
        "  rondel serve m.onnx --host 0.0.0.0 --token-file token --tls-cert cert.pem --tls-key key.pem\n"
        "                                                       reached from elsewhere, with a token, encrypted\n\n"
        f"The token is in a file, or in the environment: {_TOKEN}. /metrics is for Prometheus.\n"
        "exit codes: 0 stopped, 1 wrong model or a port that is taken, 2 wrong command line, 3 not supported (or the extra is missing),\n"
        "130 ended by a second Ctrl-C (by SIGTERM: 143)",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="[NAME=]MODEL", nargs="*", help="ONNX files; the name is the file's, unless another is given")
    parser.add_argument("--repository", metavar="DIR", help="a folder of more models: NAME.onnx or NAME/1/model.onnx")
    parser.add_argument("--engine", metavar="MODULE", default="rondel", help="a module with onnxruntime's interface that runs the models (rondel)")
    add_ops_options(parser)

    where = parser.add_argument_group("where it listens")
    where.add_argument("--host", metavar="ADDRESS", default="127.0.0.1", help="the address (127.0.0.1: this machine alone)")
    where.add_argument("--port", type=port, metavar="N", default=8000, help="for HTTP (8000); 0: a free one")
    where.add_argument("--grpc-port", type=port, metavar="N", default=8001, help="for gRPC (8001); 0: a free one")
    where.add_argument("--no-grpc", action="store_true", help="HTTP only")
    where.add_argument("--token-file", metavar="FILE", help="a file with the token that requests must bring")
    where.add_argument("--tls-cert", metavar="FILE", help="a certificate (PEM, with those that sign it): HTTP and gRPC are encrypted")
    where.add_argument("--tls-key", metavar="FILE", help="its key (PEM, without a password)")

    batches = parser.add_argument_group("batches, queues and sequences")
    batches.add_argument(
        "--batch", metavar="[NAME=]auto|on|off", action="append", default=[],
        help="auto (default): requests are joined along the first axis if the model is found to keep rows apart; on: you say that it does; off: never",
    )  # fmt: skip
    batches.add_argument("--max-batch", type=at_least_one, metavar="ROWS", default=32, help="the most rows of a batch (32)")
    batches.add_argument("--batch-delay", type=seconds, metavar="SECONDS", default=0.0, help="how long a request waits for others (0)")
    batches.add_argument("--queue", type=at_least_one, metavar="N", default=256, help="requests of a model that may wait; one more gets 503 (256)")
    batches.add_argument("--instances", type=at_least_one, metavar="N", default=1, help="runs of a model at the same time (1)")
    batches.add_argument("--threads", type=count, metavar="N", default=1, help="threads of one op (1); 0: one per core")
    batches.add_argument(
        "--state", metavar="[NAME:]INPUT=OUTPUT", action="append", default=[],
        help="the output that becomes the input of a sequence's next request; default: found by names such as state and stateN",
    )  # fmt: skip
    batches.add_argument("--sequence-idle", type=seconds, metavar="SECONDS", default=60.0, help="when a silent sequence is dropped (60)")
    batches.add_argument("--max-sequences", type=at_least_one, metavar="N", default=1024, help="sequences of a model at the same time (1024)")

    limits = parser.add_argument_group("limits of a request")
    limits.add_argument("--deadline", type=seconds, metavar="SECONDS", help="from its arrival to its answer")
    limits.add_argument("--max-trips", type=count, metavar="N", help="the most trips of any one loop")
    limits.add_argument("--max-memory", type=count, metavar="BYTES", help="the most memory that a run may hold at once")
    limits.add_argument("--max-request-bytes", type=at_least_one, metavar="N", default=1 << 30, help="the largest request (1 GiB)")
    limits.add_argument("--grace", type=seconds, metavar="SECONDS", default=30.0, help="what requests under way have when the server stops (30)")
    parser.set_defaults(act=act)


def port(text):
    number = count(text)
    if number > 65535:
        raise argparse.ArgumentTypeError(f"'{text}' is no port; expected 0 to 65535")
    return number


def act(options):
    from rondel.serve import ModelSettings, Server

    if not options.model and not options.repository:
        raise UsageError("nothing to serve; expected MODEL, or --repository DIR")
    if options.repository and not os.path.isdir(options.repository):
        raise UsageError(f"--repository {options.repository}: there is no such folder")
    if (options.tls_cert is None) != (options.tls_key is None):
        raise UsageError("--tls-cert and --tls-key: expected both, or neither")
    common = ModelSettings(
        max_batch=options.max_batch, batch_delay=options.batch_delay, queue=options.queue, instances=options.instances, threads=options.threads,
        deadline=options.deadline, max_trips=options.max_trips, max_memory_bytes=options.max_memory, sequence_idle=options.sequence_idle,
        max_sequences=options.max_sequences,
    )  # fmt: skip
    paths = _paths(options.model)
    batch, batches = _batches(options.batch, paths)
    common = dataclasses.replace(common, batch=batch)
    states = _states(options.state, paths)
    token = _token(options.token_file)
    models = {
        name: (path, dataclasses.replace(common, batch=batches.get(name, batch), states=states.get(name))) for name, path in paths.items()
    }
    server = Server(
        models, common, repository=options.repository, host=options.host, http_port=options.port,
        grpc_port=None if options.no_grpc else options.grpc_port, token=token,
        tls_cert=options.tls_cert, tls_key=options.tls_key, engine=options.engine,
        max_request_bytes=options.max_request_bytes, grace=options.grace,
    )  # fmt: skip
    logging.basicConfig(format="rondel: %(message)s", level=logging.WARNING, stream=sys.stderr)
    if not server.loopback and token is None:
        print(coloured(f"rondel: warning: {options.host} is reached from elsewhere, and there is no token; see --token-file", "33", sys.stderr), file=sys.stderr)
    server.run(lambda loaded: _show(server, loaded))
    print("stopped")
    return 0


def _show(server, loaded):
    rows = [(m.name, _batching(m), ", ".join(f"{i}={o}" for i, o in m.states.items()) or "none") for m in loaded]
    print(render(("model", "batches", "states of a sequence"), rows) + "\n")
    print(f"http  {server.url}/v2")
    if server.grpc_url:
        print(f"grpc  {server.grpc_url}")
    sys.stdout.flush()


def _batching(model):
    return f"up to {model.settings.max_batch} rows" if model.batches else f"none: {model.why_alone}"


def _paths(models):
    paths = {}
    for text in models:
        name, sign, path = text.partition("=")
        if not sign or "/" in name:
            name, path = pathlib.Path(text).stem, text
        if name in paths:
            raise UsageError(f"two models are named '{name}'; give one another name: NAME={path}")
        paths[name] = path
    return paths


def _batches(given, paths):
    """(what holds for all models, {name: what holds for it})."""
    common, own = "auto", {}
    for text in given:
        name, sign, mode = text.rpartition("=")
        if sign and name not in paths and mode in ("auto", "on", "off"):
            raise _no_model(f"--batch {text}", name, paths)
        if mode not in ("auto", "on", "off"):
            raise UsageError(f"--batch {text}: expected auto, on or off, after the name of a model and '=' if it is for that alone")
        if sign:
            own[name] = mode
        else:
            common = mode
    return common, own


def _no_model(where, name, paths):
    return UsageError(f"{where}: there is no model '{name}' on the command line; there are {', '.join(paths) or 'none'}")


#: What names a model before an input. Inputs of the names that exporters give, such as x:0 and onnx::Add_1, have none before them.
_OF_MODEL = re.compile(r"([^:=]+):(?!:|[0-9]+=)")


def _states(given, paths):
    """{model: {input: output}}."""
    states = {}
    for text in given:
        model, sign, rest = text.partition(":")
        if not sign or model not in paths:
            if not paths:
                raise UsageError(f"--state {text}: no model is named on the command line; name the file, too: NAME=path")
            if of_model := _OF_MODEL.match(text):
                raise _no_model(f"--state {text}", of_model[1], paths)
            if len(paths) != 1:
                raise UsageError(f"--state {text}: there is more than one model; expected NAME:INPUT=OUTPUT")
            model, rest = next(iter(paths)), text
        name, sign, output = rest.partition("=")
        if not name or not output:
            raise UsageError(f"--state {text}: expected INPUT=OUTPUT")
        states.setdefault(model, {})[name] = output
    return states


def _token(file):
    if file is None:
        text = os.environ.get(_TOKEN)
        if text is not None and not text.strip():
            raise UsageError(f"{_TOKEN} is empty; expected the token, or no such variable")
        return text and text.strip()
    try:
        text = pathlib.Path(file).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--token-file {file}: it cannot be read: {getattr(error, 'strerror', '') or error}") from error
    if not text:
        raise UsageError(f"--token-file {file}: the file is empty; expected the token")
    return text
