"""com.microsoft Tokenizer beside ONNX Runtime."""

import itertools

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

import rondel

TEXTS = np.array(["ab cd,e", "", "aXXbXc", ", ,", "é日 x\u0301", "a1b22c333", "  lead", "x"], object)


def model(**attributes):
    attributes = {"mark": 0, "pad_value": "#", "mincharnum": 1, **attributes}
    node = helper.make_node("Tokenizer", ["x"], ["y"], domain="com.microsoft", **attributes)
    ports = [helper.make_tensor_value_info(name, TensorProto.STRING, None) for name in "xy"]
    graph = helper.make_graph([node], "g", ports[:1], ports[1:])
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()


WAYS = [
    {"separators": [" ", ","]}, {"separators": ["XX", "X"]}, {"separators": ["X", "XX"]}, {"separators": ["\\s+"]}, {"separators": ["[0-9]+", " "]},
    {"separators": [""]}, {"tokenexp": "."}, {"tokenexp": "[a-z]+|[0-9]+"}, {"tokenexp": "(a)(b)"}, {"tokenexp": "a*"}, {"separators": ["b*"]}, {"separators": ["z"]},
    {"tokenexp": "a|[a-z]+|1|[0-9]+"}, {"separators": ["X|XXb"]}, {"tokenexp": "[a-z]+?"},
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_equal_to_onnxruntime(way):
    for mark, least in itertools.product((0, 1), (1, 2)):
        if least > 1 and (way.get("separators") == [""] or way.get("tokenexp") == "."):
            continue
        made = model(mark=mark, mincharnum=least, **way)
        ours, theirs = rondel.InferenceSession(made), onnxruntime.InferenceSession(made)
        for x in (TEXTS, TEXTS.reshape(2, 4), TEXTS[:1], TEXTS[1:2], TEXTS[3:4]):
            expected = theirs.run(None, {"x": x})[0]
            y = ours.run(None, {"x": x})[0]
            assert y.shape == expected.shape and y.tolist() == expected.tolist(), (mark, least, x)


def test_an_empty_input_has_no_tokens():
    made = rondel.InferenceSession(model(separators=[" "]))
    assert made.run(None, {"x": np.array([], object)})[0].shape == (0, 0)
    assert made.run(None, {"x": np.empty((2, 0), object)})[0].shape == (2, 0, 0)


@pytest.mark.parametrize(
    "attributes, message",
    [
        ({}, "needs one of the attributes 'separators' and 'tokenexp'"),
        ({"separators": ["("]}, "no regular expression"),
        ({"tokenexp": "["}, "no regular expression"),
        ({"separators": [""], "mincharnum": 2}, "'mincharnum' is 2; expected 1"),
        ({"separators": [" "], "mincharnum": 0}, "'mincharnum' is 0"),
    ],
)
def test_wrong_attributes(attributes, message):
    with pytest.raises(rondel.CallerError, match=message):
        rondel.InferenceSession(model(**attributes))


def test_wrong_texts():
    made = rondel.InferenceSession(model(separators=[" "]))
    with pytest.raises(rondel.CallerError, match="text 1 is not UTF-8"):
        made.run(None, {"x": np.array([b"a", b"\xff"], object)})
    with pytest.raises(rondel.CallerError, match="rank 3"):
        made.run(None, {"x": np.array([[["a"]]], object)})
