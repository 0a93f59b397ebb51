"""The demo's k-nearest-neighbours classifier: a Scan over 1,347 pictures, 450 queries at once."""

import sys

from harness import ROOT, Workload


def workload():
    sys.path.insert(0, str(ROOT / "examples" / "demo"))
    import digits_knn

    classifier, model, held_out, _ = digits_knn.build()
    return Workload(
        name="knn_scan",
        doc="Scan of scikit-learn's k-NN, 450 queries of f32[64]",
        model=model.SerializeToString(),
        feeds={"X": held_out},
        trips=len(classifier._fit_X),
    )
