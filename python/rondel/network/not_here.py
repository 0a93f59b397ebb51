"""Names of TensorRT's Python API that Rondel does not have.

Each name has a text that says what to use instead; using the name raises an error with this text.
"""

_PLUGIN = "plugins are compiled for a GPU; write the function with layers"
_REFIT = "weights are part of the session; build another one"
_DEBUG = "mark_output shows any tensor outside of loops; a loop output shows those inside"
_OTHER_LAYER = "this layer is not there yet; write it with others, or import it from ONNX"
_ENGINE = "there is no engine file: network.build_session() runs the network, network.to_onnx() saves it"
_PARSER = "rondel.InferenceSession(path) runs an ONNX model"
_TIMING = "nothing is timed when a network is built; leave the cache out"
_TACTICS = "there are no tactics to choose from; leave the line out"
_PREVIEW = "no feature needs it; leave the line out"
_DEVICE = "everything runs on the processor; leave the line out"
_CALIBRATION = "a layer computes in the types of its inputs; add_quantize and add_dequantize round as INT8 does"
_SHAPE_TENSOR = "any INT32 or INT64 tensor may be a shape, and all tensors are computed when the network runs"
_LAYOUT = "all tensors are dense, the last axis innermost (LINEAR); leave the line out"
_MEMORY = "memory is the machine's own; SessionOptions.max_memory_bytes limits it"

NETWORK = {
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
    "add_convolution": "add_convolution_nd is; kernel_shape goes as it is",
    "add_pooling": "add_pooling_nd is; window_size goes as it is",
    "add_padding": "add_padding_nd is; pre_padding and post_padding go as they are",
    "add_resize": _OTHER_LAYER,
    "add_lrn": _OTHER_LAYER,
    "add_deconvolution": _OTHER_LAYER,
    "add_deconvolution_nd": _OTHER_LAYER,
    "add_parametric_relu": "add_activation or add_select write it: x where x > 0, else slope * x",
    "add_ragged_softmax": _OTHER_LAYER,
    "add_reverse_sequence": _OTHER_LAYER,
    "add_grid_sample": _OTHER_LAYER,
    "add_nms": _OTHER_LAYER,
    "add_attention": "add_matrix_multiply, add_softmax and add_matrix_multiply write it",
    "add_dynamic_quantize": _OTHER_LAYER,
    "add_kv_cache_update": "a recurrence of the whole size writes it: add_scatter puts what is new in its place",
    "add_rotary_embedding": "add_slice, add_elementwise and add_concatenation write it",
    "add_moe": "add_topk, add_gather and add_matrix_multiply write it",
    "add_dist_collective": _DEVICE,
    "add_normalization_v2": "add_normalization takes scale and bias of any shape that goes with the input",
    "add_rnn_v2": "a loop writes it: an iterator, recurrences and a loop output; see examples/network/lstm.py",
    "add_fully_connected": "add_matrix_multiply and add_elementwise write it",
}

TENSOR = {
    "location": _DEVICE,
    "is_shape_tensor": _SHAPE_TENSOR,
    "is_execution_tensor": _SHAPE_TENSOR,
    "allowed_formats": _LAYOUT,
    "dynamic_range": _CALIBRATION,
    "set_dynamic_range": _CALIBRATION,
    "get_dynamic_range": _CALIBRATION,
    "reset_dynamic_range": _CALIBRATION,
    "broadcast_across_batch": "the batch is an axis like others; leave the line out",
}

CONVOLUTION = {
    "kernel_size": "kernel_size_nd is",
    "stride": "stride_nd is",
    "padding": "padding_nd is",
    "dilation": "dilation_nd is",
}

POOLING = {
    "window_size": "window_size_nd is",
    "stride": "stride_nd is",
    "padding": "padding_nd is",
}

PADDING = {
    "pre_padding": "pre_padding_nd is",
    "post_padding": "post_padding_nd is",
}

BUILDER = {
    "build_serialized_network": _ENGINE,
    "build_engine_with_config": _ENGINE,
    "build_engine": _ENGINE,
    "build_cuda_engine": _ENGINE,
    "get_plugin_registry": _PLUGIN,
    "gpu_allocator": _MEMORY,
    "max_DLA_batch_size": _DEVICE,
}

CONFIG = {
    "create_timing_cache": _TIMING,
    "get_timing_cache": _TIMING,
    "set_timing_cache": _TIMING,
    "set_tactic_sources": _TACTICS,
    "get_tactic_sources": _TACTICS,
    "set_preview_feature": _PREVIEW,
    "get_preview_feature": _PREVIEW,
    "set_device_type": _DEVICE,
    "get_device_type": _DEVICE,
    "can_run_on_DLA": _DEVICE,
    "set_calibration_profile": _CALIBRATION,
    "get_calibration_profile": _CALIBRATION,
}

MODULE = {
    "Runtime": _ENGINE,
    "ICudaEngine": _ENGINE,
    "IExecutionContext": _ENGINE,
    "IHostMemory": _ENGINE,
    "Refitter": _REFIT,
    "OnnxParser": _PARSER,
    "OnnxParserFlag": _PARSER,
    "OnnxParserRefitter": _PARSER,
    "TensorFormat": _LAYOUT,
    "TensorLocation": _DEVICE,
    "TensorIOMode": "session.get_inputs() and session.get_outputs() list the one and the other",
    "PreviewFeature": _PREVIEW,
    "TacticSource": _TACTICS,
    "ITimingCache": _TIMING,
    "IInt8Calibrator": _CALIBRATION,
    "IInt8EntropyCalibrator": _CALIBRATION,
    "IInt8EntropyCalibrator2": _CALIBRATION,
    "IInt8MinMaxCalibrator": _CALIBRATION,
    "IGpuAllocator": _MEMORY,
    "IErrorRecorder": "errors are raised, as rondel.CallerError and its kin",
    "IPluginV2": _PLUGIN,
    "IPluginV3": _PLUGIN,
    "IPluginCreator": _PLUGIN,
    "get_plugin_registry": _PLUGIN,
    "get_builder_plugin_registry": _PLUGIN,
    "InterpolationMode": _OTHER_LAYER,
    "ResizeMode": _OTHER_LAYER,
    "BoundingBoxFormat": _OTHER_LAYER,
}
