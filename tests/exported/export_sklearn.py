"""Writes models that scikit-learn fits and skl2onnx exports: classifiers, regressors and pipelines, on data from a fixed seed.

    pip install onnx==1.23.2 scikit-learn==1.9.1 skl2onnx==1.20.0
    python export_sklearn.py
"""

import sys
import traceback
from pathlib import Path

import numpy as np
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType
from sklearn import (
    calibration,
    cluster,
    compose,
    cross_decomposition,
    decomposition,
    discriminant_analysis,
    ensemble,
    feature_selection,
    gaussian_process,
    impute,
    linear_model,
    naive_bayes,
    neighbors,
    neural_network,
    pipeline,
    preprocessing,
    svm,
    tree,
)

FOLDER = Path(__file__).parent / "sklearn"
FEATURES = 4

random = np.random.default_rng(7)
X = random.normal(0, 1, (120, FEATURES)).astype(np.float32)
MISSING = np.where(random.random(X.shape) < 0.1, np.nan, X).astype(np.float32)
COUNTS = random.integers(0, 5, X.shape).astype(np.float32)
BINARY = (X[:, 0] + X[:, 1] ** 2 > 0.8).astype(int)
THREE = np.digitize(X[:, 0] - X[:, 2], [-0.7, 0.7])
WORDS = np.array(["high", "low", "middle"])[THREE]
REAL = (X[:, 0] * 2 - np.abs(X[:, 1])).astype(np.float32)
TWO_REALS = np.stack([REAL, X[:, 2]], 1)

SMALL = {"max_depth": 3, "random_state": 0}
FEW = {"n_estimators": 5, **SMALL}

#: name: (estimator, what it is fitted on, its targets)
PROGRAMS = {
    "decision_tree": (tree.DecisionTreeClassifier(**SMALL), X, THREE),
    "decision_tree-binary": (tree.DecisionTreeClassifier(**SMALL), X, BINARY),
    "decision_tree-words": (tree.DecisionTreeClassifier(**SMALL), X, WORDS),
    "decision_tree_regressor": (tree.DecisionTreeRegressor(**SMALL), X, REAL),
    "random_forest": (ensemble.RandomForestClassifier(**FEW), X, THREE),
    "random_forest-binary": (ensemble.RandomForestClassifier(**FEW), X, BINARY),
    "random_forest_regressor": (ensemble.RandomForestRegressor(**FEW), X, TWO_REALS),
    "extra_trees": (ensemble.ExtraTreesClassifier(**FEW), X, WORDS),
    "gradient_boosting": (ensemble.GradientBoostingClassifier(**FEW), X, THREE),
    "gradient_boosting-binary": (ensemble.GradientBoostingClassifier(**FEW), X, BINARY),
    "gradient_boosting_regressor": (ensemble.GradientBoostingRegressor(**FEW), X, REAL),
    "ada_boost": (ensemble.AdaBoostClassifier(n_estimators=3, random_state=0), X, THREE),
    "bagging": (ensemble.BaggingClassifier(n_estimators=3, random_state=0, estimator=tree.DecisionTreeClassifier(**SMALL)), X, THREE),
    "voting": (ensemble.VotingClassifier([("t", tree.DecisionTreeClassifier(**SMALL)), ("l", linear_model.LogisticRegression())], voting="soft", flatten_transform=False), X, BINARY),
    "logistic": (linear_model.LogisticRegression(), X, THREE),
    "logistic-binary": (linear_model.LogisticRegression(), X, BINARY),
    "logistic-words": (linear_model.LogisticRegression(), X, WORDS),
    "linear": (linear_model.LinearRegression(), X, TWO_REALS),
    "ridge": (linear_model.Ridge(), X, REAL),
    "sgd": (linear_model.SGDClassifier(random_state=0), X, THREE),
    "perceptron": (linear_model.Perceptron(random_state=0), X, BINARY),
    "linear_svc": (svm.LinearSVC(random_state=0), X, THREE),
    "svc": (svm.SVC(), X[:40], THREE[:40]),
    "svc-probability": (svm.SVC(probability=True, random_state=0, kernel="poly"), X[:40], THREE[:40]),
    "svc-binary": (svm.SVC(kernel="sigmoid"), X[:40], BINARY[:40]),
    "svr": (svm.SVR(), X[:40], REAL[:40]),
    "one_class_svm": (svm.OneClassSVM(), X[:40], None),
    "k_neighbors": (neighbors.KNeighborsClassifier(3), X[:40], THREE[:40]),
    "k_neighbors_regressor": (neighbors.KNeighborsRegressor(3), X[:40], REAL[:40]),
    "gaussian_nb": (naive_bayes.GaussianNB(), X, THREE),
    "multinomial_nb": (naive_bayes.MultinomialNB(), COUNTS, THREE),
    "mlp": (neural_network.MLPClassifier(hidden_layer_sizes=(8,), random_state=0, max_iter=50), X, THREE),
    "mlp_regressor": (neural_network.MLPRegressor(hidden_layer_sizes=(8,), random_state=0, max_iter=50), X, REAL),
    "lda": (discriminant_analysis.LinearDiscriminantAnalysis(), X, THREE),
    "qda": (discriminant_analysis.QuadraticDiscriminantAnalysis(), X, BINARY),
    "calibrated": (calibration.CalibratedClassifierCV(svm.LinearSVC(random_state=0), cv=2), X, BINARY),
    "k_means": (cluster.KMeans(3, random_state=0, n_init=1), X, None),
    "gaussian_process": (gaussian_process.GaussianProcessRegressor(alpha=0.1), X[:20], REAL[:20]),
    "pls": (cross_decomposition.PLSRegression(2), X, REAL),
    "imputed_forest": (pipeline.make_pipeline(impute.SimpleImputer(), preprocessing.StandardScaler(), ensemble.RandomForestClassifier(**FEW)), MISSING, THREE),
    "scaled_svc": (pipeline.make_pipeline(preprocessing.StandardScaler(), svm.SVC(random_state=0)), X[:40], WORDS[:40]),
    "normalized_logistic": (pipeline.make_pipeline(preprocessing.Normalizer("l1"), linear_model.LogisticRegression()), X, THREE),
    "binarized_nb": (pipeline.make_pipeline(preprocessing.Binarizer(threshold=0.25), naive_bayes.BernoulliNB()), X, THREE),
    "min_max_ridge": (pipeline.make_pipeline(preprocessing.MinMaxScaler(), preprocessing.PolynomialFeatures(2), linear_model.Ridge()), X, REAL),
    "pca_logistic": (pipeline.make_pipeline(decomposition.PCA(2), linear_model.LogisticRegression()), X, BINARY),
    "selected_tree": (pipeline.make_pipeline(feature_selection.SelectKBest(k=2), tree.DecisionTreeClassifier(**SMALL)), X, THREE),
    "discretized": (pipeline.make_pipeline(preprocessing.KBinsDiscretizer(3, encode="onehot-dense"), linear_model.LogisticRegression()), X, BINARY),
}  # fmt: skip


def mixed():
    """A pipeline over columns of texts, integers and floats, each an input of its own."""
    import pandas

    colours = np.array(["red", "green", "blue"])[THREE]
    frame = pandas.DataFrame({"colour": colours, "count": COUNTS[:, 0].astype(np.int64), "x": X[:, 0], "y": X[:, 1]})
    columns = compose.ColumnTransformer([
        ("texts", preprocessing.OneHotEncoder(handle_unknown="ignore"), ["colour"]),
        ("integers", preprocessing.OneHotEncoder(handle_unknown="ignore"), ["count"]),
        ("floats", preprocessing.StandardScaler(), ["x", "y"]),
    ])  # fmt: skip
    fitted = pipeline.make_pipeline(columns, linear_model.LogisticRegression()).fit(frame, WORDS)
    inputs = [("colour", StringTensorType([None, 1])), ("count", Int64TensorType([None, 1]))]
    return to_onnx(fitted, initial_types=inputs + [(name, FloatTensorType([None, 1])) for name in "xy"])


def one_hot():
    colours = np.array(["red", "green", "blue"])[THREE].reshape(-1, 1)
    fitted = preprocessing.OneHotEncoder(handle_unknown="ignore").fit(colours)
    return to_onnx(fitted, initial_types=[("colour", StringTensorType([None, 1]))])


def exported(name):
    estimator, features, targets = PROGRAMS[name]
    fitted = estimator.fit(features) if targets is None else estimator.fit(features, targets)
    return to_onnx(fitted, features[:1])


def main(names):
    FOLDER.mkdir(exist_ok=True)
    for name in names or [*PROGRAMS, "mixed", "one_hot"]:
        try:
            model = {"mixed": mixed, "one_hot": one_hot}.get(name, lambda name=name: exported(name))()
        except Exception:
            print(f"{name}: {traceback.format_exc().splitlines()[-1]}")
            continue
        model.producer_version = ""
        (FOLDER / f"{name}.onnx").write_bytes(model.SerializeToString())


if __name__ == "__main__":
    main(sys.argv[1:])
