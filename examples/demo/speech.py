"""Part 3: speech detection in a recording. The model has `If` and a recurrent state.

silero-vad is a small network that runs before speech recognisers. Every 32 ms it takes
512 samples (and the last 64 of the chunk before) and a state, and gives the probability of speech
and the next state. Its ONNX file has an `If` that selects one of two whole networks, one for each
sample rate; each has smaller `If`s and an LSTM inside.

The recording is synthesised: espeak-ng speaks three sentences, with silence around them.
"""

import importlib.util
import io
import shutil
import subprocess
import wave
from math import gcd
from pathlib import Path

import numpy as np
from scipy.signal import resample_poly

from screen import Progress, blocks, cyan
from side_by_side import Outcome, alternately, both, largest_difference

TOLERANCE = 1e-5  #: difference of probabilities from ONNX Runtime, which sums convolutions in another order

RATE = 16_000  #: samples per second
CHUNK, CONTEXT = 512, 64  #: samples
SENTENCES = (
    "Our opening lines keep coming back.",
    "A loop is a poem that a machine can read.",
    "Good night.",
)
SILENCE = (0.8, 1.2, 1.5, 1.0)  #: seconds before, between and after the sentences


def model_path():
    """The ONNX file of the installed package, which is not imported: that would need PyTorch."""
    package = importlib.util.find_spec("silero_vad")
    if package is None:
        raise RuntimeError("silero-vad is missing; try: pip install --no-deps silero-vad")
    return Path(package.submodule_search_locations[0]) / "data" / "silero_vad.onnx"


def spoken(sentence):
    """One sentence as float32 samples at 16 kHz, without the silence around it."""
    if shutil.which("espeak-ng") is None:
        raise RuntimeError("espeak-ng is missing; try: apt-get install espeak-ng")
    sound = subprocess.run(
        ["espeak-ng", "-v", "en", "-s", "150", "--stdout", sentence],
        check=True,
        capture_output=True,
    ).stdout
    with wave.open(io.BytesIO(sound)) as recording:
        rate = recording.getframerate()
        samples = np.frombuffer(recording.readframes(recording.getnframes()), np.int16) / 32768.0
    common = gcd(rate, RATE)
    samples = resample_poly(samples, RATE // common, rate // common)
    loud = np.flatnonzero(np.abs(samples) > 0.01)
    return samples[loud[0] : loud[-1] + 1].astype(np.float32)


def recording(sentences=SENTENCES):
    """Sentences with silences between: (samples, [(start, end) of each sentence in seconds])."""
    pieces, spans, at = [], [], 0
    for silence, sentence in zip(SILENCE, sentences):
        pieces += [np.zeros(int(silence * RATE), np.float32), spoken(sentence)]
        at += len(pieces[-2])
        spans.append((at / RATE, (at + len(pieces[-1])) / RATE))
        at += len(pieces[-1])
    pieces.append(np.zeros(int(SILENCE[-1] * RATE), np.float32))
    return np.concatenate(pieces), spans


def probabilities(session, samples):
    """The probability of speech in each chunk of 32 ms; this loop carries the state from run to run."""
    state = np.zeros((2, 1, 128), np.float32)
    rate = np.array(RATE)
    padded = np.concatenate([np.zeros(CONTEXT, np.float32), samples])
    found = []
    for start in range(0, len(samples) - CHUNK + 1, CHUNK):
        chunk = padded[None, start : start + CONTEXT + CHUNK]
        chance, state = session.run(None, {"input": chunk, "state": state, "sr": rate})
        found.append(chance[0, 0])
    return np.array(found)


def run(quick=False):
    with Progress("speaking (espeak-ng)"):
        samples, spans = recording(SENTENCES[-1:] if quick else SENTENCES)
    with Progress("loading the model in both engines"):
        mine, theirs = both(str(model_path()))
    with Progress("listening"):
        chances = probabilities(mine, samples)
        wanted = probabilities(theirs, samples)

    _print_timeline(chances, spans)
    rounds = 2 if quick else 5
    with Progress("timing", rounds) as progress:
        seconds = alternately(
            lambda: probabilities(mine, samples),
            lambda: probabilities(theirs, samples),
            rounds,
            progress.step,
        )
    heard = segments(chances)
    return Outcome(
        part="speech, silero-vad (If)",
        result=f"{len(heard)} of {len(spans)} sentences",
        reference="ONNX Runtime",
        difference=largest_difference(chances, wanted),
        tolerance=TOLERANCE,
        rondel_seconds=seconds[0],
        onnxruntime_seconds=seconds[1],
    )


def segments(chances, threshold=0.5, shortest_silence=0.3):
    """Stretches of speech in seconds; a pause shorter than `shortest_silence` does not end one."""
    step, found = CHUNK / RATE, []
    for at in np.flatnonzero(chances > threshold):
        start, end = at * step, (at + 1) * step
        if found and start - found[-1][1] < shortest_silence:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def _print_timeline(chances, spans, width=84):
    """Prints aligned in time: the sentences, the probabilities, and the stretches of speech found."""
    step = CHUNK / RATE
    length = len(chances) * step
    middle = (np.arange(width) + 0.5) * length / width
    said = [float(any(start <= t <= end for start, end in spans)) for t in middle]
    sure = [chances[int(t / step)] for t in middle]
    print(f"   {length:.1f} s of sound, {len(chances)} chunks of {1000 * step:.0f} ms")
    print(f"   {'spoken':>9} {blocks(said, 0, 1)}")
    print(f"   {'heard':>9} {cyan(blocks(sure, 0, 1))}")
    marks = [" "] * (width + 8)
    for second in range(0, int(length) + 1, 2):
        at = int(second * width / length)
        marks[at : at + len(f"{second} s")] = f"{second} s"
    print(f"   {'':>9} {''.join(marks).rstrip()}")
    for start, end in segments(chances):
        print(f"   speech from {start:5.2f} s to {end:5.2f} s")
