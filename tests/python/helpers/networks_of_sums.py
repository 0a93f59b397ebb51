"""A loop over the columns of a matrix, as a network, with every way to compute its trip count."""

from nets import Net

from rondel.network import DataType

# Ways to compute the extent of axis 1 of x, f32[2, ?], in a network: functions of the builder and x.
EXTENTS = {
    "gather": lambda net, x: net.gather(net.shape(x), net.i64(1)),
    "gather from the end": lambda net, x: net.gather(net.shape(x), net.i64(-1)),
    "slice, reshaped": lambda net, x: net.reshaped(net.sliced(net.shape(x), (1,), (1,)), ()),
    "slice, squeezed": lambda net, x: net.network.add_squeeze(net.sliced(net.shape(x), (1,), (1,)), net.i64([0])).get_output(0),
    "a list of one, reshaped": lambda net, x: net.reshaped(net.gather(net.shape(x), net.i64([1])), ()),
    "cast and back": lambda net, x: net.cast(net.cast(net.gather(net.shape(x), net.i64(1)), DataType.INT64), DataType.INT64),
    "cast to int32": lambda net, x: net.cast(net.gather(net.shape(x), net.i64(1)), DataType.INT32),
    "of a shape cast to int32": lambda net, x: net.reshaped(net.gather(net.cast(net.shape(x), DataType.INT32), net.i64([1])), ()),
    "cast to int32 twice": lambda net, x: net.cast(net.cast(EXTENTS["cast to int32"](net, x), DataType.INT64), DataType.INT32),
    "of an identity": lambda net, x: net.gather(net.shape(net.network.add_identity(x).get_output(0)), net.i64(1)),
    "of what has its shape": lambda net, x: net.gather(net.shape(net.unary(x, "NEG")), net.i64(1)),
    "of another with the same dimension": lambda net, x: net.gather(net.shape(net.network.get_input(2)), net.i64(0)),
}


def sums_of_columns(count, length=lambda net, x: None):
    """A loop that gives the running sums of the columns of x, f32[2, N], and the columns in reverse order.

    z, f32[N], is another input with the same dimension name.

    `count` and `length`, functions of the builder and x, give the trip count and the length of the loop outputs.
    """
    net = Net()
    x, h0, z = net.input("x", (2, -1)), net.input("h", (2,)), net.input("z", (-1,))
    x.set_dimension_name(1, "N")
    z.set_dimension_name(0, "N")
    loop = net.loop(count(net, x))
    column, back = (loop.add_iterator(x, 1, reverse=r).get_output(0) for r in (False, True))
    h = net.recurrence(loop, h0, lambda h: net.add(h, column))
    net.last(loop, h)
    net.joined(loop, h, 1, length(net, x))
    net.joined(loop, back, 0, length(net, x))
    return net
