"""TensorRT's Python names exist, with its keywords, defaults, numbers and help."""

import inspect
import pathlib
import pydoc
import re

import pytest
from rondel import network as trt
from rondel.network import DataType
from tensorrt_names import ATTRIBUTES, CONDITIONAL, ENUMS, LAYER, LOOP, NETWORK, OTHERS, TENSOR, listed


@pytest.mark.parametrize("kind, methods", [
    (trt.INetworkDefinition, NETWORK), (trt.ILoop, LOOP), (trt.IIfConditional, CONDITIONAL), (trt.ILayer, LAYER),
    (trt.ITensor, TENSOR),
], ids=lambda x: getattr(x, "__name__", ""))  # fmt: skip
def test_methods_have_tensorrts_keywords(kind, methods):
    for name, *parameters in listed(methods):
        found = list(inspect.signature(getattr(kind, name)).parameters.values())[1:]
        words = [p.name + ("" if p.default is inspect.Parameter.empty else "=") for p in found]
        assert words == parameters, f"{kind.__name__}.{name}"


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes_are_there(name):
    kind = getattr(trt, name)
    assert not [a for a in ATTRIBUTES[name].split() if not hasattr(kind, a)]


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_help_says_what_an_attribute_is(name):
    kind = getattr(trt, name)
    told = " ".join(pydoc.plain(pydoc.render_doc(kind)).replace("|", " ").split())
    texts = [x.__doc__ for a in ATTRIBUTES[name].split() if isinstance(x := getattr(kind, a), property)]
    assert texts and not [text for text in texts if not text or text == trt.arguments.Attribute.__doc__ or text not in told]


def test_everything_says_what_it_is():
    undocumented = [
        f"{kind}.{name}"
        for kind in ("Network", "ILoop", "IIfConditional")
        for name, x in vars(getattr(trt, kind)).items()
        if name.startswith("add_") and not (x.__doc__ or "").strip()
    ]
    assert not undocumented
    assert "initial_value: rondel.network.layers.ITensor" in str(inspect.signature(trt.ILoop.add_recurrence))


def test_classes_of_layers_may_be_derived():
    class Mine(trt.IShuffleLayer):
        pass

    class Other(trt.ITensor):
        pass

    assert Mine.first_transpose is trt.IShuffleLayer.first_transpose and Other.shape is trt.ITensor.shape


def test_python_has_what_the_headers_of_the_layers_set_and_get():
    root = pathlib.Path(__file__).parents[3]
    declared = "".join((root / "include/rondel/network" / name).read_text() for name in ("layer.h", "layers.h", "loop.h"))
    bound = "".join(path.read_text() for path in (root / "python/bindings").glob("network*.cpp"))
    methods = re.findall(r"\b((?:set|get|is)[A-Z]\w*)\(", declared)
    assert len(methods) > 150 and [m for m in methods if not re.search(rf"::{m}\b|\.{m}\(", bound)] == ["isV2"]


def test_all_names_come_with_a_star():
    names = {}
    exec("from rondel.network import *", names)
    assert not [name for name in [*ATTRIBUTES, *ENUMS, *OTHERS.split()] if name not in names or name not in trt.__all__]
    assert names["__builtins__"]["bool"] is bool and "bool" not in trt.__all__
    assert trt.bool == DataType.BOOL and trt.float32 == DataType.FLOAT


# ---- enumerations ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ENUMS)
def test_enumerations_are_there(name):
    assert not [v for v in ENUMS[name].split() if not hasattr(getattr(trt, name), v)]


@pytest.mark.parametrize("name", ENUMS)
def test_enumerations_are_ints_and_say_their_names(name):
    kind = getattr(trt, name)
    for member in kind:
        assert int(member) == member == kind(int(member)) and isinstance(member, int)
        assert str(member) == repr(member) == f"{member}" == f"{name}.{member.name}"
    in_order = name not in ("BuilderFlag", "ProfilingVerbosity", "MemoryPoolType")  # of these enumerations only some members are listed above
    if in_order:
        assert [int(getattr(kind, v)) for v in ENUMS[name].split()] == list(range(len(ENUMS[name].split())))


def test_numbers_of_enumerations_are_tensorrts():
    found = {name: int(getattr(trt.LayerType, name)) for name in ("CONVOLUTION", "CAST", "CONSTANT", "TRIP_LIMIT", "LOOP_OUTPUT",
             "CONDITION", "CONDITIONAL_OUTPUT", "NORMALIZATION", "CUMULATIVE", "RESIZE", "PLUGIN_V3")}  # fmt: skip
    assert found == {"CONVOLUTION": 0, "CAST": 1, "CONSTANT": 19, "TRIP_LIMIT": 26, "LOOP_OUTPUT": 29, "CONDITION": 34,
                     "CONDITIONAL_OUTPUT": 36, "NORMALIZATION": 45, "CUMULATIVE": 49, "RESIZE": 25, "PLUGIN_V3": 46}  # fmt: skip
    assert (int(trt.BuilderFlag.REFIT), int(trt.ProfilingVerbosity.DETAILED), int(trt.MemoryPoolType.TACTIC_DRAM)) == (4, 2, 4)
    assert int(trt.Logger.VERBOSE) == 4 and str(trt.Logger.VERBOSE) == "Severity.VERBOSE"


SIZES = {"FLOAT": 4, "HALF": 2, "BF16": 2, "INT8": 1, "INT32": 4, "INT64": 8, "BOOL": 1, "UINT8": 1, "FP8": 1, "INT4": 0.5,
         "FP4": 0.5, "DOUBLE": 8, "COMPLEX128": 16, "INT2": 0.25, "STRING": None}  # fmt: skip


@pytest.mark.parametrize("name", SIZES)
def test_dtypes_say_their_size(name):
    assert getattr(DataType, name).itemsize == SIZES[name]
