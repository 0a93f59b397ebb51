"""What TensorRT's Python has and this has not, each with the reason: said where somebody reaches for it."""

from ..errors import UnsupportedError

_PLUGIN = "plugins are compiled for a GPU; write the function with layers"
_REFIT = "weights are part of the session; build another one"
_DEBUG = "mark_output shows any tensor outside of loops; a loop output shows those inside"
_OTHER_LAYER = "this layer is not there yet; write it with others, or import it from ONNX"
_ENGINE = "there is no engine file: network.build_session() runs the network, network.to_onnx() saves it"

NOT_HERE = {
    "add_plugin": _PLUGIN,
    "add_plugin_v2": _PLUGIN,
    "add_plugin_v3": _PLUGIN,
    "mark_weights_refittable": _REFIT,
    "unmark_weights_refittable": _REFIT,
    "are_weights_marked_refittable": _REFIT,
    "set_weights_name": _REFIT,
    "mark_debug": _DEBUG,
    "unmark_debug": _DEBUG,
    "is_debug_tensor": _DEBUG,
    "mark_unfused_tensors_as_debug_tensors": _DEBUG,
    "unmark_unfused_tensors_as_debug_tensors": _DEBUG,
    "mark_output_for_shapes": "shapes are tensors like others: mark_output(add_shape(t).get_output(0))",
    "unmark_output_for_shapes": "shapes are tensors like others: unmark_output",
    "remove_tensor": "what no output needs is not computed; leave the tensor",
    "serialize": _ENGINE,
    "add_resize": _OTHER_LAYER,
    "add_lrn": _OTHER_LAYER,
    "add_deconvolution_nd": _OTHER_LAYER,
    "add_parametric_relu": "add_activation or add_select write it: x where x > 0, else slope * x",
    "add_ragged_softmax": _OTHER_LAYER,
    "add_reverse_sequence": _OTHER_LAYER,
    "add_grid_sample": _OTHER_LAYER,
    "add_nms": _OTHER_LAYER,
    "add_attention": "add_matrix_multiply, add_softmax and add_matrix_multiply write it",
    "add_dynamic_quantize": _OTHER_LAYER,
    "add_normalization_v2": "add_normalization takes scale and bias of any shape that goes with the input",
    "add_rnn_v2": "a loop writes it: an iterator, recurrences and a loop output; see examples/network/lstm.py",
    "add_fully_connected": "add_matrix_multiply and add_elementwise write it",
    "build_serialized_network": _ENGINE,
    "build_engine_with_config": _ENGINE,
    "build_engine": _ENGINE,
    "build_cuda_engine": _ENGINE,
}


class NotHereError(UnsupportedError, AttributeError):
    """Something of TensorRT's that is not here; the message says what to do instead. hasattr() gives False."""


class NotHere:
    """Base of the classes with such names."""

    __slots__ = ()

    def __getattr__(self, name):
        kind = type(self).__name__
        if name in NOT_HERE:
            raise NotHereError(f"{kind}.{name} is not here: {NOT_HERE[name]}")
        raise AttributeError(f"'{kind}' has no attribute '{name}'")
