"""Rondel on a cluster: batch inference, sweeps, serving and data-parallel training, on Ray.

>>> import rondel.ray
>>> rows = rondel.ray.predict(ray.data.read_parquet("in"), "model.onnx", workers=4)             # doctest: +SKIP
>>> rows.write_parquet("out")                                                                  # doctest: +SKIP

Ray schedules, stores, retries and scales. Needs Ray: python -m pip install 'rondel[ray]'. docs/scale.md shows more.
"""

try:
    import ray as _ray
except ImportError:
    raise ModuleNotFoundError("rondel.ray needs the package ray: python -m pip install 'rondel[ray]'", name="ray") from None

from .cluster import connect
from .predicting import Predictor, predict
from .serving import application
from .sweeping import sweep
from .training import Fitted, fit

__all__ = ["Fitted", "Predictor", "application", "connect", "fit", "predict", "sweep"]
