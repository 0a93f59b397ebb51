"""The figures of `rondel serve`, measured by bench/serving.py, which compares the answers with ONNX Runtime's."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_requests_a_second_and_their_latency(note):
    done = subprocess.run([sys.executable, ROOT / "bench" / "serving.py", "--quick"], capture_output=True, text=True)
    rows = re.findall(r"^(perceptron|loop) +(rondel|onnxruntime) .*", done.stdout, re.MULTILINE)
    assert len(rows) == 4, done.stdout + done.stderr
    for line in done.stdout.splitlines():
        note(f"rondel serve: {line}")
    for line in done.stderr.splitlines():  # the bench's limits are for a machine that does nothing else
        note(f"rondel serve, on this machine at this moment: {line}")
