"""Writes models with loops as TensorFlow and Keras export them: tf.function and autograph, through tf2onnx.

    pip install tensorflow-cpu==2.21.0 tf2onnx==1.17.0
    python export_tensorflow.py
"""

import os
import sys
import traceback
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import onnx
import tensorflow as tf
import tf2onnx

FOLDER = Path(__file__).parent / "tensorflow"
HIDDEN, TOKENS, BEAMS = 16, 24, 4
END = 0

random = np.random.default_rng(7)


def weight(*shape):
    return tf.Variable(random.normal(0, 1, shape).astype(np.float32))


EMBEDDING = weight(TOKENS, HIDDEN)
GATES_X, GATES_H = weight(HIDDEN, 3 * HIDDEN), weight(HIDDEN, 3 * HIDDEN)
OUT = weight(HIDDEN, TOKENS)
QUERY, KEY, VALUE = weight(HIDDEN, HIDDEN), weight(HIDDEN, HIDDEN), weight(HIDDEN, HIDDEN)
CELL_X, CELL_H = weight(HIDDEN, 4 * HIDDEN), weight(HIDDEN, 4 * HIDDEN)
PEEP_I, PEEP_F, PEEP_O = weight(HIDDEN), weight(HIDDEN), weight(HIDDEN)


def f32(name, *shape):
    return tf.TensorSpec(shape, tf.float32, name=name)


def i32(name, *shape):
    return tf.TensorSpec(shape, tf.int32, name=name)


def gru(x, h):
    xr, xz, xn = tf.split(x @ GATES_X, 3, axis=-1)
    hr, hz, hn = tf.split(h @ GATES_H, 3, axis=-1)
    r, z = tf.sigmoid(xr + hr), tf.sigmoid(xz + hz)
    return z * h + (1 - z) * tf.tanh(xn + r * hn)


def newton(a):
    x = tf.maximum(a, 1.0)
    step = tf.ones_like(a)
    while tf.reduce_max(tf.abs(step)) > 1e-5:
        step = (x * x - a) / (2.0 * x)
        x = x - step
    return x


def bisection(a):
    low, high = tf.zeros_like(a), tf.maximum(a, 1.0)
    trips = 0
    while tf.reduce_any(high - low > 1e-4) and trips < 60:
        middle = (low + high) / 2
        above = middle * middle > a
        low, high = tf.where(above, low, middle), tf.where(above, middle, high)
        trips += 1
    return low, trips


def greedy_gru(h0, most):
    """Tokens go to a TensorArray; ends at the end token."""
    h, token = h0[tf.newaxis], tf.constant([1], tf.int32)
    tokens = tf.TensorArray(tf.int32, size=0, dynamic_size=True, element_shape=[1])
    i = 0
    while i < most and token[0] != END:
        h = gru(tf.gather(EMBEDDING, token), h)
        token = tf.argmax(h @ OUT, axis=-1, output_type=tf.int32)
        tokens = tokens.write(i, token)
        i += 1
    return tokens.stack()[:, 0], h[0]


def greedy_cache(prompt, most):
    """Tokens, keys and values grow by tf.concat."""
    tokens = prompt
    x = tf.gather(EMBEDDING, prompt)
    keys, values = x @ KEY, x @ VALUE
    i = 0
    go = True
    while go and i < most:
        tf.autograph.experimental.set_loop_options(
            shape_invariants=[
                (tokens, tf.TensorShape([None])),
                (keys, tf.TensorShape([None, HIDDEN])),
                (values, tf.TensorShape([None, HIDDEN])),
            ]
        )
        x = tf.gather(EMBEDDING, tokens[-1:])
        weights = tf.nn.softmax(tf.matmul(x @ QUERY, keys, transpose_b=True) / 4.0)
        x = x + weights @ values
        token = tf.argmax(x @ OUT, axis=-1, output_type=tf.int32)
        x = tf.gather(EMBEDDING, token)
        tokens = tf.concat([tokens, token], 0)
        keys, values = tf.concat([keys, x @ KEY], 0), tf.concat([values, x @ VALUE], 0)
        go = token[0] != END
        i += 1
    return tokens


def beam_search(h0, most):
    h = tf.tile(h0[tf.newaxis], [BEAMS, 1])
    scores = tf.constant([0.0] + [-1e9] * (BEAMS - 1))
    last = tf.ones([BEAMS], tf.int32)
    ended = tf.zeros([BEAMS], tf.bool)
    tokens = tf.TensorArray(tf.int32, size=0, dynamic_size=True, element_shape=[BEAMS])
    parents = tf.TensorArray(tf.int32, size=0, dynamic_size=True, element_shape=[BEAMS])
    only_end = tf.constant([0.0] + [-1e9] * (TOKENS - 1))
    i = 0
    while i < most and not tf.reduce_all(ended):
        h = gru(tf.gather(EMBEDDING, last), h)
        chances = tf.nn.log_softmax(h @ OUT)
        chances = tf.where(ended[:, tf.newaxis], only_end[tf.newaxis], chances)
        scores, flat = tf.math.top_k(tf.reshape(scores[:, tf.newaxis] + chances, [-1]), BEAMS)
        parent, last = flat // TOKENS, flat % TOKENS
        h, ended = tf.gather(h, parent), tf.gather(ended, parent) | tf.equal(last, END)
        tokens, parents = tokens.write(i, last), parents.write(i, parent)
        i += 1
    all_tokens, all_parents = tokens.stack(), parents.stack()
    path = tf.TensorArray(tf.int32, size=i)
    beam = tf.constant(0)
    for j in tf.range(i):
        path = path.write(j, all_tokens[i - 1 - j, beam])
        beam = all_parents[i - 1 - j, beam]
    return tf.reverse(path.stack(), [0]), scores


def ctc_greedy(logits):
    """Best class of each frame; repeats and blanks (class 0) are left out."""
    best = tf.argmax(logits, axis=-1, output_type=tf.int32)
    out, last = tf.zeros([0], tf.int32), tf.constant(0)
    for token in best:
        tf.autograph.experimental.set_loop_options(shape_invariants=[(out, tf.TensorShape([None]))])
        if token != last and token != 0:
            out = tf.concat([out, token[tf.newaxis]], 0)
        last = token
    return out


def ctc_forward(logits, labels):
    """The alpha recursion of the CTC loss: log of the probability of the labels."""
    chances = tf.nn.log_softmax(logits)
    n = tf.size(labels)
    extended = tf.reshape(tf.stack([tf.zeros_like(labels), labels], 1), [-1])
    extended = tf.concat([extended, [0]], 0)
    before = tf.concat([[-1, -1], extended[:-2]], 0)
    skips = (extended != 0) & (extended != before)
    alpha = tf.where(tf.range(2 * n + 1) < 2, tf.gather(chances[0], extended), -1e9)
    for t in tf.range(1, tf.shape(logits)[0]):
        one = tf.concat([[-1e9], alpha[:-1]], 0)
        two = tf.where(skips, tf.concat([[-1e9, -1e9], alpha[:-2]], 0), -1e9)
        alpha = tf.reduce_logsumexp(tf.stack([alpha, one, two]), 0) + tf.gather(chances[t], extended)
    return tf.reduce_logsumexp(alpha[-2:])


def viterbi(emissions, transitions):
    score = emissions[0]
    t_most = tf.shape(emissions)[0]
    back = tf.TensorArray(tf.int32, size=t_most - 1)
    for t in tf.range(1, t_most):
        candidates = score[:, tf.newaxis] + transitions
        back = back.write(t - 1, tf.argmax(candidates, axis=0, output_type=tf.int32))
        score = tf.reduce_max(candidates, axis=0) + emissions[t]
    last = tf.argmax(score, output_type=tf.int32)
    back = tf.reverse(back.stack(), [0])
    path = tf.TensorArray(tf.int32, size=t_most - 1)
    state = last
    for t in tf.range(t_most - 1):
        state = back[t, state]
        path = path.write(t, state)
    return tf.reverse(tf.concat([[last], path.stack()], 0), [0]), tf.reduce_max(score)


def overlaps(box, boxes):
    top = tf.maximum(box[:2], boxes[:, :2])
    bottom = tf.minimum(box[2:], boxes[:, 2:])
    inner = tf.reduce_prod(tf.maximum(bottom - top, 0.0), axis=1)
    area = tf.reduce_prod(boxes[:, 2:] - boxes[:, :2], axis=1)
    return inner / (tf.reduce_prod(box[2:] - box[:2]) + area - inner + 1e-9)


def nms(boxes, scores):
    kept = tf.TensorArray(tf.int32, size=0, dynamic_size=True, element_shape=[])
    n = 0
    while tf.reduce_any(scores > 0.1):
        best = tf.argmax(scores, output_type=tf.int32)
        kept = kept.write(n, best)
        scores = tf.where(overlaps(boxes[best], boxes) > 0.5, -1.0, scores)
        scores = tf.tensor_scatter_nd_update(scores, [[best]], [-1.0])
        n += 1
    return kept.stack()


def edit_distance(a, b):
    n = tf.size(b)
    row = tf.range(n + 1)
    for i in tf.range(tf.size(a)):
        fresh = tf.TensorArray(tf.int32, size=n)
        left = i + 1
        for j in tf.range(n):
            cost = tf.cast(a[i] != b[j], tf.int32)
            left = tf.minimum(tf.minimum(row[j + 1] + 1, left + 1), row[j] + cost)
            fresh = fresh.write(j, left)
        row = tf.concat([[i + 1], fresh.stack()], 0)
    return row[-1]


def masked_gru(x, lengths):
    batch = tf.shape(x)[0]
    h = tf.zeros([batch, HIDDEN])
    outputs = tf.TensorArray(tf.float32, size=tf.shape(x)[1], element_shape=[None, HIDDEN])
    for t in tf.range(tf.shape(x)[1]):
        h = tf.where((t < lengths)[:, tf.newaxis], gru(x[:, t], h), h)
        outputs = outputs.write(t, h)
    return tf.transpose(outputs.stack(), [1, 0, 2]), h


def peephole_lstm(x):
    batch = tf.shape(x)[1]
    h, c = tf.zeros([batch, HIDDEN]), tf.zeros([batch, HIDDEN])
    outputs = tf.TensorArray(tf.float32, size=tf.shape(x)[0], element_shape=[None, HIDDEN])
    for t in tf.range(tf.shape(x)[0]):
        i, f, g, o = tf.split(x[t] @ CELL_X + h @ CELL_H, 4, axis=-1)
        i, f = tf.sigmoid(i + c * PEEP_I), tf.sigmoid(f + c * PEEP_F)
        c = f * c + i * tf.tanh(g)
        h = tf.sigmoid(o + c * PEEP_O) * tf.tanh(c)
        outputs = outputs.write(t, h)
    return outputs.stack(), c


def ragged(values, lengths):
    """Each segment's softmax, appended to what was found so far."""
    out = tf.zeros([0])
    start = 0
    for length in lengths:
        tf.autograph.experimental.set_loop_options(shape_invariants=[(out, tf.TensorShape([None]))])
        out = tf.concat([out, tf.nn.softmax(values[start : start + length])], 0)
        start += length
    return out


class Peephole(tf.keras.layers.Layer):
    """A cell of one's own for Keras' RNN."""

    def __init__(self):
        super().__init__()
        self.state_size = [HIDDEN, HIDDEN]
        self.output_size = HIDDEN

    def call(self, x, states):
        h, c = states
        i, f, g, o = tf.split(x @ CELL_X + h @ CELL_H, 4, axis=-1)
        i, f = tf.sigmoid(i + c * PEEP_I), tf.sigmoid(f + c * PEEP_F)
        c = f * c + i * tf.tanh(g)
        h = tf.sigmoid(o + c * PEEP_O) * tf.tanh(c)
        return h, [h, c]


def fixed(layer):
    """`layer` with weights from our seed."""
    layer.build((None, None, HIDDEN))
    layer.set_weights([random.normal(0, 0.3, w.shape).astype(np.float32) for w in layer.get_weights()])
    return layer


KERAS_PEEPHOLE = tf.keras.layers.RNN(Peephole(), return_sequences=True)
KERAS_GRU = fixed(tf.keras.layers.GRU(HIDDEN, return_sequences=True))
KERAS_LSTM = fixed(tf.keras.layers.LSTM(HIDDEN, return_sequences=True, go_backwards=True))


def keras_peephole(x):
    return KERAS_PEEPHOLE(x)


def keras_masked_gru(x, lengths):
    mask = tf.sequence_mask(lengths, tf.shape(x)[1])
    return KERAS_GRU(x, mask=mask)


def keras_masked_lstm(x, lengths):
    mask = tf.sequence_mask(lengths, tf.shape(x)[1])
    return KERAS_LSTM(x, mask=mask)


PROGRAMS = [
    (newton, f32("a", None)),
    (bisection, f32("a", None)),
    (greedy_gru, f32("h0", HIDDEN), i32("most")),
    (greedy_cache, i32("prompt", None), i32("most")),
    (beam_search, f32("h0", HIDDEN), i32("most")),
    (ctc_greedy, f32("logits", None, TOKENS)),
    (ctc_forward, f32("logits", None, TOKENS), i32("labels", None)),
    (viterbi, f32("emissions", None, None), f32("transitions", None, None)),
    (nms, f32("boxes", None, 4), f32("scores", None)),
    (edit_distance, i32("a", None), i32("b", None)),
    (masked_gru, f32("x", None, None, HIDDEN), i32("lengths", None)),
    (peephole_lstm, f32("x", None, None, HIDDEN)),
    (ragged, f32("values", None), i32("lengths", None)),
    (keras_peephole, f32("x", None, None, HIDDEN)),
    (keras_masked_gru, f32("x", None, None, HIDDEN), i32("lengths", None)),
    (keras_masked_lstm, f32("x", None, None, HIDDEN), i32("lengths", None)),
]


def write(program, *signature):
    function = tf.function(program, input_signature=signature)
    model, _ = tf2onnx.convert.from_function(function, input_signature=signature, opset=18)
    onnx.save(model, FOLDER / f"{program.__name__}.onnx")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for program, *signature in PROGRAMS:
        if len(sys.argv) > 1 and program.__name__ not in sys.argv[1:]:
            continue
        try:
            write(program, *signature)
            print("wrote", program.__name__)
        except Exception:
            print("cannot export", program.__name__)
            traceback.print_exc()
