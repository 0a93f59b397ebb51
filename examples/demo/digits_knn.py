"""Part 1: k nearest neighbours on handwritten digits. The loop is an ONNX `Scan`.

scikit-learn's classifier keeps all its training pictures. To classify a batch of new ones, the
exported model scans over the training pictures, one per trip: a trip subtracts the training
picture from every new picture and gives the sums of squares. The stacked distances are one matrix;
TopK and a vote follow.

    Scan(new, training):  distances = sum((new - picture)^2)      1,347 trips
    Transpose, Sqrt, TopK(3), ArrayFeatureExtractor               the labels of the nearest three
    Equal, ReduceSum, ArgMax                                      their vote
"""

import numpy as np
from skl2onnx import to_onnx
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from screen import Progress, blocks
from side_by_side import Outcome, alternately, both, largest_difference

TOLERANCE = 1e-6  #: difference of probabilities; votes are multiples of 1/3, squared distances are integers


def build():
    """Fit, and export to ONNX: (classifier, model, held-out pictures, their true digits)."""
    pictures, digits = load_digits(return_X_y=True)
    pictures = pictures.astype(np.float32)
    train, held_out, train_digits, truth = train_test_split(
        pictures, digits, test_size=0.25, random_state=0, stratify=digits
    )
    classifier = KNeighborsClassifier(n_neighbors=3).fit(train, train_digits)
    # Plain ONNX is the default; with `optim="cdist"` the exporter would call an ONNX Runtime extra.
    model = to_onnx(classifier, held_out[:1], options={"zipmap": False})
    if not any(node.op_type == "Scan" for node in model.graph.node):
        raise RuntimeError("skl2onnx exported the classifier without a Scan")
    return classifier, model, held_out, truth


def run(quick=False):
    with Progress("fitting and exporting"):
        classifier, model, held_out, truth = build()
        if quick:
            held_out, truth = held_out[:100], truth[:100]
        wanted = classifier.predict(held_out)
        wanted_chances = classifier.predict_proba(held_out)

    with Progress("loading the model in both engines"):
        mine, theirs = both(model)
    labels, chances = mine.run(None, {"X": held_out})

    agree = int((labels == wanted).sum())
    accuracy = float((labels == truth).mean())
    print(f"   {len(classifier._fit_X):,} pictures to learn from, {len(held_out)} held out")
    print(f"   accuracy {accuracy:.1%}; same digit as scikit-learn on {agree} of {len(held_out)}")
    for line in _some_mistakes(held_out, truth, labels):
        print(line)

    rounds = 3 if quick else 9
    with Progress("timing", rounds) as progress:
        seconds = alternately(
            lambda: mine.run(None, {"X": held_out}),
            lambda: theirs.run(None, {"X": held_out}),
            rounds,
            progress.step,
        )
    faults = []
    if agree < len(held_out):
        faults.append(f"{len(held_out) - agree} labels differ from scikit-learn's")
    return Outcome(
        part="digits, k-NN (Scan)",
        result=f"accuracy {accuracy:.1%}",
        reference="scikit-learn",
        difference=largest_difference(chances, wanted_chances),
        tolerance=TOLERANCE,
        rondel_seconds=seconds[0],
        onnxruntime_seconds=seconds[1],
        faults=faults,
    )


def _some_mistakes(pictures, truth, labels, most=4):
    """The first misclassified pictures, drawn side by side."""
    wrong = np.flatnonzero(labels != truth)[:most]
    if len(wrong) == 0:
        return
    yield "   taken for another digit:"
    yield "   " + "".join(f"{truth[i]}, taken for {labels[i]}".ljust(22) for i in wrong).rstrip()
    for row in range(8):
        yield (
            "   "
            + "      ".join(
                "".join(2 * blocks([v], 0, 16) for v in pictures[i].reshape(8, 8)[row])
                for i in wrong
            ).rstrip()
        )
