"""A character RNN that generates text until an end mark: a while loop with a data-dependent condition.

The weights are fitted without training: the hidden layer is a random rotation, which preserves the past characters, and the
output layer is the least-squares solution for the next character, over a rondel by Charles d'Orleans (15th century). The
opening lines of the rondel return with another continuation, so the network must remember more than one line.
"""

import numpy as np

from rondel.network import *  # noqa: F403

POEM = """Le temps a laissié son manteau
De vent, de froidure et de pluie,
Et s'est vestu de brouderie,
De soleil luisant, cler et beau.

Il n'y a beste, ne oyseau,
Qu'en son jargon ne chante ou crie :
Le temps a laissié son manteau
De vent, de froidure et de pluie.
"""
END = "\0"
HIDDEN = 256


def fit(text):
    """(embed [chars, hidden], recur [hidden, hidden], readout [hidden, chars], list of characters)."""
    chars = sorted(set(text))
    numbers = [chars.index(c) for c in text]
    random = np.random.default_rng(0)
    embed = random.uniform(-0.1, 0.1, (len(chars), HIDDEN)).astype(np.float32)
    recur = np.linalg.qr(random.normal(0, 1, (HIDDEN, HIDDEN)))[0].astype(np.float32)

    states, h = [], np.zeros(HIDDEN, np.float32)
    for c in numbers[:-1]:
        h = np.tanh(h @ recur + embed[c])
        states.append(h)
    states, wanted = np.array(states, np.float64), np.eye(len(chars))[numbers[1:]]
    readout = np.linalg.solve(states.T @ states + 1e-3 * np.eye(HIDDEN), states.T @ wanted)
    return embed, recur, readout.astype(np.float32), chars


def build(embed, recur, readout, end):
    """first: the index of the first character; most: the maximum number of generated characters."""
    n = Network()
    first = n.add_input("first", DataType.INT64, ())
    most = n.add_input("most", DataType.INT64, ())

    def constant(array):
        return n.add_constant(array.shape, array).get_output(0)

    def times(a, b):
        return n.add_matrix_multiply(a, MatrixOperation.NONE, b, MatrixOperation.NONE).get_output(0)

    loop = n.add_loop()
    loop.name = "write"
    char_rec = loop.add_recurrence(first)
    h_rec = loop.add_recurrence(constant(np.zeros((1, HIDDEN), np.float32)))
    char, h = char_rec.get_output(0), h_rec.get_output(0)

    row = n.add_shuffle(char)
    row.reshape_dims = (1,)
    now = n.add_gather(constant(embed), row.get_output(0), 0).get_output(0)
    summed = n.add_elementwise(times(h, constant(recur)), now, ElementWiseOperation.SUM).get_output(0)
    h_next = n.add_activation(summed, ActivationType.TANH).get_output(0)
    best = n.add_topk(times(h_next, constant(readout)), TopKOperation.MAX, 1, 1 << 1, DataType.INT64).get_output(1)
    scalar = n.add_shuffle(best)
    scalar.reshape_dims = ()
    h_rec.set_input(1, h_next)
    char_rec.set_input(1, scalar.get_output(0))

    at_end = n.add_elementwise(char, constant(np.array(end)), ElementWiseOperation.EQUAL).get_output(0)
    loop.add_trip_limit(n.add_unary(at_end, UnaryOperation.NOT).get_output(0), TripLimit.WHILE)
    loop.add_trip_limit(most, TripLimit.COUNT)
    written = loop.add_loop_output(char, LoopOutput.CONCATENATE).get_output(0)
    written.name = "written"
    n.mark_output(written)
    return n


def main():
    *weights, chars = fit(POEM + END)
    session = build(*weights, chars.index(END)).build_session()
    (written,) = session.run(None, {"first": chars.index("L"), "most": 1000})
    text = "".join(chars[c] for c in written)
    print(text, end="")
    assert text == POEM, "it did not learn its poem by heart"


if __name__ == "__main__":
    main()
