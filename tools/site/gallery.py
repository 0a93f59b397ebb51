"""The gallery: pictures that the demo and the examples give, drawn when the site is built."""

import html
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np


class Picture:
    """A file, what draws it, and what the page says of it."""

    def __init__(self, name, draw, alt, text):
        self.name, self.draw, self.alt, self.text = name, draw, alt, text


def draw(root, folder, redraw=False):
    """Draws the pictures that are missing, or all of them; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    sys.path[:0] = [str(root / "examples/demo"), str(root / "examples")]
    for picture in PICTURES:
        path = folder / picture.name
        if redraw or not path.is_file():
            part = path.with_name("part_" + path.name)
            picture.draw(root, part)
            os.replace(part, path)
    return [folder / picture.name for picture in PICTURES]


def add_page(folder, pictures):
    """The page of the gallery, among the sources of the site."""
    text = ["# Gallery", "", "All pictures come from runs of Rondel, made when this site was built.", ""]
    for picture, path in zip(PICTURES, pictures, strict=True):
        (folder / "pictures").mkdir(parents=True, exist_ok=True)
        (folder / "pictures" / picture.name).write_bytes(path.read_bytes())
        text += [f"```{{figure}} pictures/{picture.name}", f":alt: {picture.alt}", "", picture.text, "```", ""]
    text += ["## Drawings", ""]
    for name, page, alt in (
        ("rondel", "index.md", "How Rondel runs a model"),
        ("loop_gradient", "docs/gradients.md", "How the gradient goes back through a loop"),
    ):
        text += [f"```{{figure}} docs/{name}.svg", f":alt: {alt}", "", f"{alt} ([more]({page}))", "```", ""]
    text += ["## As notebooks show it", "", "A session, its loop and its profile ([more](docs/notebooks.md)):", ""]
    for name, shown in notebook_tables():
        text += ["```{raw} html", f'<div class="notebook" id="notebook-{html.escape(name)}">', shown, "</div>", "```", ""]
    (folder / "gallery.md").write_text("\n".join(text))


def notebook_tables():
    """(name, HTML) of what a notebook shows for a session, a loop and a profile."""
    import onnx.parser

    import rondel

    model = onnx.parser.parse_model("""
    <ir_version: 10, opset_import: ["" : 21]>
    root (float[n] a) => (float[n] r) <int64 most = {50}, float small = {0.00001}, bool yes = {1}> {
      r = Loop (most, yes, a) <body = newton (int64 i, bool go, x) => (bool on, better) {
        square = Mul (x, x)
        error = Sub (square, a)
        twice = Add (x, x)
        step = Div (error, twice)
        better = Sub (x, step)
        size = Abs (step)
        worst = ReduceMax <keepdims = 0> (size)
        on = Greater (worst, small)
      }>
    }""")
    options = rondel.SessionOptions()
    options.enable_profiling = True
    with tempfile.TemporaryDirectory() as folder:
        options.profile_file_prefix = str(Path(folder) / "root")
        session = rondel.InferenceSession(model, options)
        for n in range(1, 201):
            session.run(None, {"a": np.arange(1, n + 1, dtype=np.float32)})
        shown = session._repr_html_()
        profile = session.end_profiling()
        table = profile._repr_html_().replace(html.escape(folder) + os.sep, "")
    return [("session", shown), ("loop", rondel.inspect(model).loops[0]._repr_html_()), ("profile", table)]


def axes(rows=1, columns=1, **options):
    """(figure, its axes) of matplotlib, drawn without a screen."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot.subplots(rows, columns, layout="constrained", **options)


def save(figure, path):
    from matplotlib import pyplot

    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def draw_digits(root, path):
    import digits_knn

    import rondel

    _, model, held_out, truth = digits_knn.build()
    labels, chances = rondel.InferenceSession(model).run(None, {"X": held_out})
    unsure = np.argsort(chances.max(1), kind="stable")[:16]
    figure, places = axes(2, 8, figsize=(9, 3))
    for place, k in zip(places.ravel(), unsure):
        place.imshow(held_out[k].reshape(8, 8), cmap="gray_r")
        place.set_title(f"{truth[k]} read as {labels[k]}", fontsize=9, color="black" if truth[k] == labels[k] else "tab:red")
        place.axis("off")
    save(figure, path)


def draw_heat(root, path):
    import heat

    import rondel

    session = rondel.InferenceSession(heat.build())
    rod = np.zeros(64)
    rod[0] = 100.0
    figure, place = axes(figsize=(8, 4))
    for tolerance in (1.0, 0.1, 0.01, 0.001, 1e-6):
        (settled,) = session.run(None, {"rod": rod, "rate": np.array(0.4), "tolerance": np.array(tolerance)})
        place.plot(settled, label=f"until no point moves by {tolerance:g}")
    place.set(xlabel="point of the rod", ylabel="degrees")
    place.legend()
    save(figure, path)


def draw_speech(root, path):
    import speech

    import rondel

    samples, spans = speech.recording()
    chances = speech.probabilities(rondel.InferenceSession(speech.model_path()), samples)
    figure, (sound, sure) = axes(2, sharex=True, figsize=(9, 4))
    sound.plot(np.arange(len(samples))[::8] / speech.RATE, samples[::8], linewidth=0.4, color="gray")
    sound.set(ylabel="sound")
    sure.plot((np.arange(len(chances)) + 0.5) * speech.CHUNK / speech.RATE, chances)
    for begin, end in spans:
        sure.axvspan(begin, end, alpha=0.15, color="tab:green")
    sure.set(xlabel="seconds", ylabel="probability of speech")
    save(figure, path)


def draw_ode(root, path):
    import fit_ode

    gaps, seen, start = fit_ode.observations("hares")
    rates, begin, _ = fit_ode.fit(gaps, seen, start, 400)
    fine = np.full(400, gaps.sum() / 400)
    curves = np.vstack([begin, fit_ode.solved(rates, begin, fine, parts=20)])
    figure, place = axes(figsize=(8, 4))
    for column, (name, colour) in enumerate((("hares", "tab:blue"), ("lynxes", "tab:orange"))):
        place.plot(1900 + np.arange(401) * fine[0], curves[:, column], color=colour, label=f"{name}, fitted")
        place.plot(1900 + np.arange(len(gaps) + 1), [start[column], *seen[:, column]], "o", color=colour, markersize=4, label=f"{name}, counted")
    place.set(ylabel="pelts, thousands", xticks=range(1900, 1921, 4))
    place.legend()
    save(figure, path)


def draw_perceptron(root, path):
    from rondel import deepx

    session = deepx.Session()
    session.run((root / "examples/deepx/perceptron.deepx").read_text(), on_print=lambda text: None)
    side = np.linspace(-1, 1, 200, dtype=np.float32)
    points = np.stack(np.meshgrid(side, side), -1)
    hidden = np.maximum(points @ session["w1"] + session["b1"], 0)
    answer = (hidden @ session["w2"] + session["b2"])[..., 0]
    figure, place = axes(figsize=(5, 4))
    shown = place.imshow(answer, origin="lower", extent=(-1, 1, -1, 1), cmap="coolwarm", vmin=0, vmax=1)
    place.scatter(*session["x"].T, s=4, color="black")
    figure.colorbar(shown)
    save(figure, path)


def mdf_plot(model, *arguments):
    """A picture of `rondel mdf --plot`."""

    def drawn(root, path):
        command = [sys.executable, "-m", "rondel_cli.main", "mdf", root / "tests/python/mdf" / model, *arguments, "--plot", path]
        subprocess.run(list(map(str, command)), check=True, capture_output=True)

    return drawn


PICTURES = [
    Picture("digits.png", draw_digits, "Handwritten digits, each with the digit that the classifier read",
            "The demo's digits: the 16 of which scikit-learn's nearest neighbours, a `Scan`, are least sure. [digits_knn.py](examples/README.md)"),
    Picture("heat.png", draw_heat, "Temperatures along a rod, for five tolerances",
            "The demo's rod: a `Loop` of Euler steps that ends when the data say so. The smaller the tolerance, the more trips. [heat.py](examples/README.md)"),
    Picture("speech.png", draw_speech, "A recording, and the probability of speech over time",
            "The demo's recording, and where silero-vad hears speech; where somebody spoke is green. [speech.py](examples/README.md)"),
    Picture("ode.png", draw_ode, "Hares and lynxes from 1900 to 1920, counted and fitted",
            "Rates of prey and predators, fitted through an adaptive solver. [fit_ode.py](examples/README.md)"),
    Picture("perceptron.png", draw_perceptron, "The answer of a perceptron over a square",
            "A perceptron trained by deepx instructions alone: whether two numbers have the same sign. [perceptron.deepx](docs/deepx.md)"),
    Picture("iafs.png", mdf_plot("iafs.yaml", "--steps", "2000", "--dt", "0.05"), "Voltages of two integrate-and-fire cells",
            "`rondel mdf iafs.yaml --plot`: one cell drives another. [MDF](docs/mdf.md)"),
    Picture("states.png", mdf_plot("states.json", "--steps", "200", "--dt", "0.01", "--record", "sine_node.out_port", "--set", "sine_node.period=[0.4, 0.8, 1.6]"),
            "Three waves of different periods", "`rondel mdf states.json --set 'sine_node.period=[0.4, 0.8, 1.6]' --plot`: a sweep. [MDF](docs/tutorials/mdf_sweep.md)"),
]  # fmt: skip
