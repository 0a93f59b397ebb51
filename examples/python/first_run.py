"""A first run: a model with a loop. Here the model is ONNX text; a path works, too."""

import numpy as np
import onnx
import rondel

model = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 21]>
powers (int64 trips, float base) => (float last, float[n] all) {
  one = Constant <value = float {1.0}> ()
  last, all = Loop (trips, "", one) <body = step (int64 i, bool go, float now)
                                        => (bool go_on, float next, float item) {
    go_on = Identity (go)
    next = Mul (now, base)
    item = Identity (now)
  }>
}""")

session = rondel.InferenceSession(model)
last, powers = session.run(None, {"trips": np.array(4), "base": np.array(2, np.float32)})
print("the powers", powers, "and the next one", last)
