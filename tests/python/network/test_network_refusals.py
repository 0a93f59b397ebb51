"""Building an invalid network raises CallerError, which names the loop, the layers and the rule.

One test per rule, with the words that the message must have.
"""

import contextlib
import re

import models
import pytest
from nets import F32, Net

import rondel
from rondel.network import LoopOutput, TripLimit


@contextlib.contextmanager
def refused(kind, *words):
    """Like models.refused; the message must also have no name in its C++ spelling."""
    with models.refused(kind, *words) as caught:
        yield caught
    said = re.sub(r"'[^']*'", "''", str(caught.value))
    assert not re.search(r"\bk[A-Z][A-Z_]+\b|\b[a-z]+[A-Z]\w*|::", said), said


def build(net):
    net.network.build_session()


def counted(net, name, count=3):
    """A loop of this name, with a trip count."""
    return net.loop(count, name)


def test_no_trip_limit():
    net = Net()
    loop = net.loop(name="endless")
    net.last(loop, net.recurrence(loop, net.f32(1), net.relu))
    with refused(rondel.CallerError, "'endless'", "trip limit"):
        build(net)


@pytest.mark.parametrize("kind", TripLimit)
def test_two_limits_of_a_kind(kind):
    net = Net()
    loop = net.loop(name="twice")
    i = net.counter(loop)
    with refused(rondel.CallerError, "'twice'", kind.name):
        for limit in (3, 4):
            t = net.i64(limit) if kind == TripLimit.COUNT else net.less(i, net.i64(limit))
            loop.add_trip_limit(t, kind)
        net.last(loop, i)
        build(net)


def test_a_while_computed_from_an_iterator():
    net = Net()
    loop = net.loop(name="walk")
    layer = loop.add_iterator(net.f32([1, 2, 3]))
    layer.name = "steps"
    net.go_while(loop, net.less(layer.get_output(0), net.f32(3)))
    net.last(loop, net.counter(loop))
    with refused(rondel.CallerError, "'walk'", "'steps'", "iterator", "while"):
        build(net)


def test_a_while_computed_from_a_loop_output():
    net = Net()
    loop = net.loop(name="outer")
    i = net.counter(loop)
    inner = net.loop(i, "inner")
    j = net.counter(inner)
    net.go_while(loop, net.less(inner.add_loop_output(j, LoopOutput.LAST_VALUE).get_output(0), net.i64(3)))
    net.last(loop, i)
    with refused(rondel.CallerError, "'outer'", "while"):
        build(net)


def test_a_while_from_another_loops_recurrence():
    net = Net()
    other = counted(net, "other")
    i = net.counter(other)
    net.last(other, i)
    loop = net.loop(name="mine")
    net.go_while(loop, net.less(i, net.i64(2)))
    net.last(loop, net.counter(loop))
    with refused(rondel.CallerError, "'other'", "inside"):
        build(net)


@pytest.mark.parametrize("make", [lambda net: net.f32(1), lambda net: net.i64([1, 2])], ids=["float", "two of them"])
def test_a_count_of_another_kind(make):
    net = Net()
    loop = net.loop(make(net), "kind")
    net.last(loop, net.counter(loop))
    with refused(rondel.CallerError, "'kind'", "i32[] or i64[]"):
        build(net)


def test_a_while_of_another_type():
    net = Net()
    loop = net.loop(name="kind")
    i = net.counter(loop)
    net.go_while(loop, i)
    net.last(loop, i)
    with refused(rondel.CallerError, "'kind'", "bool"):
        build(net)


def test_a_recurrence_without_a_second_input():
    net = Net()
    loop = counted(net, "carry")
    layer = loop.add_recurrence(net.f32(1))
    layer.name = "state"
    net.last(loop, layer.get_output(0))
    with refused(rondel.CallerError, "'carry'", "'state'", ("second input", "input 1")):
        build(net)


def test_a_recurrence_of_another_type():
    net = Net()
    loop = counted(net, "carry")
    layer = loop.add_recurrence(net.f32(1))
    layer.name = "state"
    layer.set_input(1, net.i64(1))
    net.last(loop, layer.get_output(0))
    with refused(rondel.CallerError, "'carry'", "'state'", "f32", "i64"):
        build(net)


@pytest.mark.parametrize("after", [[1, 2, 3], [[1, 2]], 1.0], ids=["extent", "rank", "scalar"])
def test_a_recurrence_of_another_shape(after):
    net = Net()
    loop = counted(net, "carry")
    layer = loop.add_recurrence(net.f32([1, 2]))
    layer.name = "state"
    layer.set_input(1, net.f32(after))
    net.last(loop, layer.get_output(0))
    with refused(rondel.CallerError, "'carry'", "'state'", "f32[2]"):
        build(net)


def test_a_recurrence_that_grows_in_its_own_loop():
    net = Net()
    loop = counted(net, "grow")
    layer = loop.add_recurrence(net.f32([1]))
    layer.name = "state"
    layer.set_input(1, net.network.add_concatenation([layer.get_output(0), layer.get_output(0)]).get_output(0))
    net.last(loop, layer.get_output(0))
    with refused(rondel.CallerError, "'grow'", "'state'", "f32[1]", "f32[2]"):
        build(net)


def test_an_initial_value_from_inside():
    net = Net()
    loop = counted(net, "carry")
    layer = loop.add_recurrence(net.relu(loop.add_iterator(net.f32([1, 2, 3])).get_output(0)))
    layer.name = "state"
    layer.set_input(1, net.f32(1))
    net.last(loop, layer.get_output(0))
    with refused(rondel.CallerError, "'carry'", "'state'", ("initial", "first input", "input 0"), ("inside", "outside")):
        build(net)


def test_a_count_from_inside():
    net = Net()
    loop = net.loop(name="count")
    i = net.counter(loop)
    loop.add_trip_limit(net.add(i, net.i64(1)), TripLimit.COUNT)
    net.last(loop, i)
    with refused(rondel.CallerError, "'count'", "count", ("inside", "outside")):
        build(net)


def test_an_iterators_input_from_inside():
    net = Net()
    loop = counted(net, "walk")
    x = net.recurrence(loop, net.f32([1, 2, 3]), net.relu)
    layer = loop.add_iterator(x)
    layer.name = "steps"
    net.joined(loop, layer.get_output(0))
    with refused(rondel.CallerError, "'walk'", "'steps'", ("inside", "outside")):
        build(net)


def test_a_length_from_inside():
    net = Net()
    loop = counted(net, "fill")
    i = net.counter(loop)
    layer = loop.add_loop_output(i, LoopOutput.CONCATENATE)
    layer.name = "rows"
    layer.set_input(1, i)
    net.mark(layer.get_output(0))
    with refused(rondel.CallerError, "'fill'", "'rows'", ("inside", "outside")):
        build(net)


@pytest.mark.parametrize("kind", ["a computed value", "an iterator", "an invariant", "a recurrence of another loop"])
def test_a_last_value_of_something_else(kind):
    net = Net()
    loop, other = counted(net, "mine"), counted(net, "other")
    i, j = net.counter(loop), net.counter(other)
    of = {
        "a computed value": lambda: net.add(i, i),
        "an iterator": lambda: loop.add_iterator(net.f32([1, 2, 3])).get_output(0),
        "an invariant": lambda: net.f32(1),
        "a recurrence of another loop": lambda: j,
    }[kind]()
    layer = loop.add_loop_output(of, LoopOutput.LAST_VALUE)
    layer.name = "final"
    net.last(loop, i)
    net.last(other, j)
    net.mark(layer.get_output(0))
    with refused(rondel.CallerError, "'mine'", "'final'", "recurrence"):
        build(net)


def test_overlapping_loops():
    # Each loop uses an inside value of the other.
    net = Net()
    a, b = counted(net, "left"), counted(net, "right")
    layer_a, layer_b = a.add_recurrence(net.f32(1)), b.add_recurrence(net.f32(2))
    x, y = layer_a.get_output(0), layer_b.get_output(0)
    layer_a.set_input(1, net.add(x, y))
    layer_b.set_input(1, net.add(x, y))
    net.last(a, x)
    net.last(b, y)
    with refused(rondel.CallerError, "'left'", "'right'"):
        build(net)


def test_an_inside_value_used_outside():
    net = Net()
    loop = counted(net, "inside")
    i = net.counter(loop)
    net.last(loop, i)
    twice = net.network.add_elementwise(i, i, rondel.network.ElementWiseOperation.SUM)
    twice.name = "twice"
    net.mark(twice.get_output(0))
    with refused(rondel.CallerError, "'inside'", "'twice'", "loop output"):
        build(net)


def test_an_inside_value_marked_though_the_loop_has_no_output():
    net = Net()
    loop = counted(net, "inside")
    i = net.counter(loop)
    i.name = "index"
    net.mark(i)
    with refused(rondel.CallerError, "'inside'", "'index'"):
        build(net)


def test_an_inside_value_in_another_loops_count():
    # So the second loop is inside the first; its result may not leave the first.
    net = Net()
    first = counted(net, "first")
    i = net.counter(first)
    net.last(first, i)
    second = net.loop(i, "second")
    net.last(second, net.counter(second))
    with refused(rondel.CallerError, "'first'"):
        build(net)


def test_a_cycle_that_goes_through_no_recurrence():
    net = Net()
    x = net.input("x", (2,))
    first = net.network.add_identity(x)
    second = net.network.add_identity(first.get_output(0))
    first.name, second.name = "first", "second"
    first.set_input(0, second.get_output(0))
    net.mark(second.get_output(0))
    with refused(rondel.CallerError, "'first'", "'second'", "depends on itself", "recurrence"):
        build(net)


def test_a_count_from_the_loops_own_last_value():
    net = Net()
    loop = net.network.add_loop()
    loop.name = "endless"
    end = loop.add_loop_output(net.counter(loop), LoopOutput.LAST_VALUE)
    end.name = "end"
    loop.add_trip_limit(end.get_output(0), TripLimit.COUNT)
    net.mark(end.get_output(0))
    with refused(rondel.CallerError, "'endless'", "'end'", "(TripLimit)", "depends on itself", "recurrence"):
        build(net)


def test_the_last_value_of_another_loops_recurrence():
    net = Net()
    one, other = counted(net, "one"), counted(net, "other")
    i = net.counter(one)
    i.name = "index"
    net.last(other, i)
    with refused(rondel.CallerError, "loop 'one'", "loop 'other'", "'index'", "recurrence"):
        build(net)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_count_past_a_known_extent(reverse):
    net = Net()
    loop = counted(net, "frames", 5)
    layer = loop.add_iterator(net.input("x", (3,)), 0, reverse)
    layer.name = "frame"
    net.joined(loop, layer.get_output(0))
    with refused(rondel.CallerError, "'frames'", "'frame'", "'x'", "extent", "is 3", "5 trips"):
        build(net)


def test_a_length_below_a_known_count():
    net = Net()
    loop = counted(net, "frames", 5)
    layer = loop.add_loop_output(net.counter(loop), LoopOutput.REVERSE)
    layer.name = "all"
    layer.set_input(1, net.i64(3))
    net.mark(layer.get_output(0))
    with refused(rondel.CallerError, "'frames'", "'all' (LoopOutput)", "length", "is 3", "5 trips"):
        build(net)


def test_the_last_value_of_what_a_recurrence_has_next():
    net = Net()
    loop = counted(net, "double")
    layer = loop.add_recurrence(net.f32(1))
    layer.name = "acc"
    layer.set_input(1, net.add(layer.get_output(0), layer.get_output(0)))
    net.mark(loop.add_loop_output(layer.get_input(1), LoopOutput.LAST_VALUE).get_output(0))
    with refused(rondel.CallerError, "'double'", "layer 'acc' (Recurrence), whose second input it is"):
        build(net)


def test_a_second_condition():
    net = Net()
    conditional = net.network.add_if_conditional()
    conditional.name = "either"
    conditional.set_condition(net.constant(True)).name = "first"
    with refused(rondel.CallerError, "'either'", "condition already", "input 0 of layer 'first'"):
        conditional.set_condition(net.constant(True))


def test_an_output_type_at_a_boundary():
    net = Net()
    loop = counted(net, "rows")
    layer = loop.add_loop_output(net.counter(loop), LoopOutput.LAST_VALUE)
    layer.name = "end"
    layer.get_output(0).dtype = F32
    net.mark(layer.get_output(0))
    with refused(rondel.CallerError, "'rows'", "'end'", "i64", "f32", "cast"):
        build(net)


@pytest.mark.parametrize("axis", [2, -3, 100])
def test_an_iterators_axis_out_of_range(axis):
    net = Net()
    loop = counted(net, "walk", 1)
    layer = loop.add_iterator(net.f32([[1, 2]]), axis)
    layer.name = "steps"
    net.joined(loop, layer.get_output(0))
    with refused(rondel.CallerError, "'walk'", "'steps'", "axis", str(axis)):
        build(net)


@pytest.mark.parametrize("axis", [3, -4])
def test_an_outputs_axis_out_of_range(axis):
    net = Net()
    loop = counted(net, "fill")
    layer = loop.add_loop_output(net.f32([[1, 2]]), LoopOutput.CONCATENATE, axis)
    layer.name = "rows"
    net.mark(layer.get_output(0))
    with refused(rondel.CallerError, "'fill'", "'rows'", "axis", str(axis)):
        build(net)


def test_an_iterator_over_a_scalar():
    net = Net()
    loop = counted(net, "walk")
    net.joined(loop, loop.add_iterator(net.f32(1)).get_output(0))
    with refused(rondel.CallerError, "'walk'"):
        build(net)


# ---- conditionals ------------------------------------------------------------------------------------------


def test_a_conditional_without_a_condition():
    net = Net()
    conditional = net.network.add_if_conditional()
    conditional.name = "either"
    net.mark(conditional.add_output(net.f32(1), net.f32(2)).get_output(0))
    with refused(rondel.CallerError, "'either'", "condition"):
        build(net)


def test_a_condition_of_another_type():
    net = Net()
    conditional = net.network.add_if_conditional()
    conditional.name = "either"
    with refused(rondel.CallerError, "'either'", "bool"):
        conditional.set_condition(net.f32(1))
        net.mark(conditional.add_output(net.f32(1), net.f32(2)).get_output(0))
        build(net)


def test_outputs_of_two_types():
    net = Net()
    conditional = net.network.add_if_conditional()
    conditional.name = "either"
    conditional.set_condition(net.constant(True))
    net.mark(conditional.add_output(net.f32(1), net.i64(2)).get_output(0))
    with refused(rondel.CallerError, "'either'", "f32", "i64"):
        build(net)


# ---- layers and the network itself -------------------------------------------------------------------------


def test_a_layer_says_what_is_wrong_with_its_inputs():
    net = Net()
    layer = net.network.add_elementwise(net.f32([1, 2]), net.f32([1, 2, 3]), rondel.network.ElementWiseOperation.SUM)
    layer.name = "sum"
    net.mark(layer.get_output(0))
    with refused(rondel.CallerError, "'sum'", "2", "3"):
        build(net)


def test_a_network_without_outputs():
    net = Net()
    net.input("x", (2,))
    with refused(rondel.CallerError, "output"):
        build(net)


def test_two_inputs_of_one_name():
    net = Net()
    with refused(rondel.CallerError, "'x'"):
        net.mark(net.add(net.input("x", ()), net.input("x", ())))
        build(net)


def test_too_many_axes():
    net = Net()
    with refused(rondel.CallerError, "8"):
        net.network.add_input("x", F32, (1,) * 9)
