"""TensorRT's names in its Python bindings: methods with their parameters, attributes, enumerations."""


# Names in TensorRT's bindings: a method, then its parameters; '=' marks a default.
NETWORK = """
add_input name dtype shape | mark_output tensor | unmark_output tensor
get_layer index | get_input index | get_output index
add_convolution_nd input num_output_maps kernel_shape kernel bias= | add_activation input type
add_pooling_nd input type window_size | add_scale input mode shift= scale= power=
add_scale_nd input mode shift= scale= power= channel_axis= | add_softmax input | add_concatenation inputs
add_elementwise input1 input2 op | add_unary input op | add_padding_nd input pre_padding post_padding
add_shuffle input | add_slice input start shape stride | add_reduce input op axes keep_dims
add_topk input op k axes indices_type= | add_gather input indices axis | add_scatter data indices updates mode
add_gather_v2 input indices mode | add_matrix_multiply input0 op0 input1 op1 | add_constant shape weights
add_identity input | add_cast input to_type | add_loop | add_shape input
add_select condition then_input else_input | add_assertion condition message | add_fill shape op output_type=
add_quantize input scale output_type= | add_dequantize input scale output_type= | add_if_conditional
add_einsum inputs equation | add_one_hot indices values depth axis | add_non_zero input indices_type=
add_normalization input scale bias axesMask | add_cumulative input axis op exclusive reverse
add_squeeze input axes | add_unsqueeze input axes
"""

LOOP = """
add_recurrence initial_value | add_trip_limit tensor kind | add_iterator tensor axis= reverse=
add_loop_output tensor kind axis=
"""

CONDITIONAL = "set_condition condition | add_input input | add_output true_subgraph_output false_subgraph_output"
LAYER = "get_input index | get_output index | set_input index tensor | set_output_type index dtype | get_output_type index"
TENSOR = "set_dimension_name index name | get_dimension_name index"

ATTRIBUTES = {
    "INetworkDefinition": "name num_layers num_inputs num_outputs has_implicit_batch_dimension builder flags",
    "ITensor": "name shape dtype is_network_input is_network_output",
    "ILayer": "name type num_inputs num_outputs precision precision_is_set metadata",
    "ILoop": "name",
    "IIfConditional": "name",
    "IActivationLayer": "type alpha beta",
    "IAssertionLayer": "message",
    "ICastLayer": "to_type",
    "IConcatenationLayer": "axis",
    "IConditionLayer": "conditional",
    "IConstantLayer": "weights shape",
    "IConvolutionLayer": "num_output_maps kernel_size_nd stride_nd padding_nd pre_padding post_padding padding_mode dilation_nd"
    " num_groups kernel bias",
    "ICumulativeLayer": "op exclusive reverse",
    "IDequantizeLayer": "axis to_type",
    "IEinsumLayer": "equation",
    "IElementWiseLayer": "op",
    "IFillLayer": "shape operation alpha beta to_type is_alpha_beta_int64",
    "IGatherLayer": "axis mode num_elementwise_dims",
    "IIfConditionalInputLayer": "conditional",
    "IIfConditionalOutputLayer": "conditional",
    "IIteratorLayer": "axis reverse loop",
    "ILoopOutputLayer": "axis kind loop",
    "IMatrixMultiplyLayer": "op0 op1",
    "INonZeroLayer": "indices_type",
    "INormalizationLayer": "epsilon axes num_groups compute_precision",
    "IOneHotLayer": "axis",
    "IPaddingLayer": "pre_padding_nd post_padding_nd",
    "IPoolingLayer": "type window_size_nd stride_nd padding_nd pre_padding post_padding padding_mode blend_factor"
    " average_count_excludes_padding",
    "IQuantizeLayer": "axis to_type",
    "IRecurrenceLayer": "loop",
    "IReduceLayer": "op axes keep_dims",
    "IScaleLayer": "mode shift scale power channel_axis",
    "IScatterLayer": "axis mode",
    "IShuffleLayer": "first_transpose reshape_dims second_transpose zero_is_placeholder",
    "ISliceLayer": "start shape stride mode axes",
    "ISoftMaxLayer": "axes",
    "ITopKLayer": "op k axes",
    "ITripLimitLayer": "kind loop",
    "IUnaryLayer": "op",
}

ENUMS = {
    "DataType": "FLOAT HALF INT8 INT32 BOOL UINT8 FP8 BF16 INT64 INT4 FP4 E8M0",
    "ElementWiseOperation": "SUM PROD MAX MIN SUB DIV POW FLOOR_DIV AND OR XOR EQUAL GREATER LESS",
    "UnaryOperation": "EXP LOG SQRT RECIP ABS NEG SIN COS TAN SINH COSH ASIN ACOS ATAN ASINH ACOSH ATANH CEIL FLOOR ERF NOT SIGN"
    " ROUND ISINF ISNAN",
    "ActivationType": "RELU SIGMOID TANH LEAKY_RELU ELU SELU SOFTSIGN SOFTPLUS CLIP HARD_SIGMOID SCALED_TANH THRESHOLDED_RELU"
    " GELU_ERF GELU_TANH",
    "MatrixOperation": "NONE TRANSPOSE VECTOR",
    "ReduceOperation": "SUM PROD MAX MIN AVG",
    "TripLimit": "COUNT WHILE",
    "LoopOutput": "LAST_VALUE CONCATENATE REVERSE",
    "GatherMode": "DEFAULT ELEMENT ND",
    "ScatterMode": "ELEMENT ND",
    "FillOperation": "LINSPACE RANDOM_UNIFORM RANDOM_NORMAL",
    "TopKOperation": "MAX MIN",
    "PoolingType": "MAX AVERAGE MAX_AVERAGE_BLEND",
    "PaddingMode": "EXPLICIT_ROUND_DOWN EXPLICIT_ROUND_UP SAME_UPPER SAME_LOWER",
    "ScaleMode": "UNIFORM CHANNEL ELEMENTWISE",
    "SampleMode": "STRICT_BOUNDS WRAP CLAMP FILL REFLECT",
    "CumulativeOperation": "SUM",
    "NetworkDefinitionCreationFlag": "EXPLICIT_BATCH STRONGLY_TYPED",
    "BuilderFlag": "FP16 INT8 BF16 TF32 REFIT STRIP_PLAN WEIGHT_STREAMING STRICT_TYPES STRICT_NANS",
    "EngineCapability": "STANDARD SAFETY DLA_STANDALONE",
    "DeviceType": "GPU DLA",
    "HardwareCompatibilityLevel": "NONE AMPERE_PLUS",
    "TilingOptimizationLevel": "NONE FAST MODERATE FULL",
    "MemoryPoolType": "WORKSPACE TACTIC_DRAM",
    "ProfilingVerbosity": "LAYER_NAMES_ONLY NONE DETAILED",
}

OTHERS = "Builder Dims Dims2 Dims3 Dims4 DimsHW IBuilderConfig ILogger IOptimizationProfile Logger Network Permutation Weights"


def listed(text):
    return [row.split() for part in text.strip().split("\n") for row in part.split("|") if row.strip()]
