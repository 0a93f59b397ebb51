# Written by tools/function_stubs.py, of ONNX's schemas.
from collections.abc import Callable, Sequence

from numpy import ndarray
from numpy.typing import ArrayLike

def abs(X: ArrayLike) -> ndarray:
    """Absolute takes one input data (Tensor<T>) and produces one output data (Tensor<T>) where absolute value, y = abs(x), ..."""

def acos(input: ArrayLike) -> ndarray:
    """Calculates the arccosine (inverse of cosine) of the given input tensor, element-wise."""

def acosh(input: ArrayLike) -> ndarray:
    """Calculates the hyperbolic arccosine of the given input tensor element-wise."""

def add(A: ArrayLike, B: ArrayLike) -> ndarray:
    """Performs element-wise binary addition (with Numpy-style broadcasting support)."""

def affine_grid(theta: ArrayLike, size: ArrayLike, *, align_corners: int = 0) -> ndarray:
    """Generates a 2D or 3D flow field (sampling grid), given a batch of affine matrices theta ..."""

def and_(A: ArrayLike, B: ArrayLike) -> ndarray:
    """Returns the tensor resulted from performing the `and` logical operation elementwise on the input tensors `A` and `B` ..."""

def arg_max(data: ArrayLike, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> ndarray:
    """Computes the indices of the max elements of the input tensor's element along the provided axis."""

def arg_min(data: ArrayLike, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> ndarray:
    """Computes the indices of the min elements of the input tensor's element along the provided axis."""

def asin(input: ArrayLike) -> ndarray:
    """Calculates the arcsine (inverse of sine) of the given input tensor, element-wise."""

def asinh(input: ArrayLike) -> ndarray:
    """Calculates the hyperbolic arcsine of the given input tensor element-wise."""

def atan(input: ArrayLike) -> ndarray:
    """Calculates the arctangent (inverse of tangent) of the given input tensor, element-wise."""

def atanh(input: ArrayLike) -> ndarray:
    """Calculates the hyperbolic arctangent of the given input tensor element-wise."""

def attention(Q: ArrayLike, K: ArrayLike, V: ArrayLike, attn_mask: ArrayLike | None = None, past_key: ArrayLike | None = None, past_value: ArrayLike | None = None, nonpad_kv_seqlen: ArrayLike | None = None, *, is_causal: int = 0, kv_num_heads: int | None = None, left_window_size: int = -1, q_num_heads: int | None = None, qk_matmul_output_mode: int = 0, right_window_size: int = -1, scale: float | None = None, softcap: float = 0.0, softmax_precision: int | None = None, outputs: int | None = None) -> ndarray | tuple[ndarray, ...]:
    """Computes scaled dot product attention on query, key and value tensors, using an optional attention mask if passed."""

def average_pool(X: ArrayLike, *, auto_pad: str = 'NOTSET', ceil_mode: int = 0, count_include_pad: int = 0, dilations: Sequence[int] | None = None, kernel_shape: Sequence[int], pads: Sequence[int] | None = None, strides: Sequence[int] | None = None) -> ndarray:
    """AveragePool consumes an input tensor X and applies average pooling across the tensor according to kernel sizes, ..."""

def batch_normalization(X: ArrayLike, scale: ArrayLike, B: ArrayLike, input_mean: ArrayLike, input_var: ArrayLike, *, epsilon: float = 1e-05, momentum: float = 0.9, training_mode: int = 0, outputs: int | None = None) -> ndarray | tuple[ndarray, ...]:
    """Carries out batch normalization as described in the paper https://arxiv.org/abs/1502.03167."""

def bernoulli(input: ArrayLike, *, dtype: int | None = None, seed: float | None = None) -> ndarray:
    """Draws binary random numbers (0 or 1) from a Bernoulli distribution."""

def bit_cast(input: ArrayLike, *, to: int) -> ndarray:
    """Reinterprets the binary representation of a tensor as a different data type, specified by the 'to' attribute."""

def bit_shift(X: ArrayLike, Y: ArrayLike, *, direction: str) -> ndarray:
    """Bitwise shift operator performs element-wise operation."""

def bitwise_and(A: ArrayLike, B: ArrayLike) -> ndarray:
    """Returns the tensor resulting from performing the bitwise `and` operation elementwise on the input tensors `A` and ..."""

def bitwise_not(X: ArrayLike) -> ndarray:
    """Returns the bitwise not of the input tensor element-wise."""

def bitwise_or(A: ArrayLike, B: ArrayLike) -> ndarray:
    """Returns the tensor resulting from performing the bitwise `or` operation elementwise on the input tensors `A` and `B` ..."""

def bitwise_xor(A: ArrayLike, B: ArrayLike) -> ndarray:
    """Returns the tensor resulting from performing the bitwise `xor` operation elementwise on the input tensors `A` and ..."""

def blackman_window(size: ArrayLike, *, output_datatype: int = 1, periodic: int = 1) -> ndarray:
    """Generates a Blackman window as described in the paper https://ieeexplore.ieee.org/document/1455106."""

def cast(input: ArrayLike, *, round_mode: str = 'up', saturate: int = 1, to: int) -> ndarray:
    """The operator casts the elements of a given input tensor to a data type specified by the 'to' argument and returns an ..."""

def cast_like(input: ArrayLike, target_type: ArrayLike, *, round_mode: str = 'up', saturate: int = 1) -> ndarray:
    """The operator casts the elements of a given input tensor (the first input) to the same data type as the elements of ..."""

def causal_conv_with_state(input: ArrayLike, weight: ArrayLike, bias: ArrayLike | None = None, past_state: ArrayLike | None = None, *, activation: str = 'none') -> ndarray | tuple[ndarray, ...]:
    """Stateful causal 1D depthwise convolution."""

def ceil(X: ArrayLike) -> ndarray:
    """Ceil takes one input data (Tensor<T>) and produces one output data (Tensor<T>) where the ceil is, y = ceil(x), is ..."""

def celu(X: ArrayLike, *, alpha: float = 1.0) -> ndarray:
    """Continuously Differentiable Exponential Linear Units: Perform the linear unit element-wise on the input tensor X ..."""

def center_crop_pad(input_data: ArrayLike, shape: ArrayLike, *, axes: Sequence[int] | None = None) -> ndarray:
    """Center crop or pad an input to given dimensions."""

def clip(input: ArrayLike, min: ArrayLike | None = None, max: ArrayLike | None = None) -> ndarray:
    """Clip operator limits the given input within an interval."""

def col2_im(input: ArrayLike, image_shape: ArrayLike, block_shape: ArrayLike, *, dilations: Sequence[int] | None = None, pads: Sequence[int] | None = None, strides: Sequence[int] | None = None) -> ndarray:
    """The operator rearranges column blocks back into a multidimensional image"""

def compress(input: ArrayLike, condition: ArrayLike, *, axis: int | None = None) -> ndarray:
    """Selects slices from an input tensor along a given axis where condition evaluates to True for each axis index."""

def concat(*inputs: ArrayLike, axis: int) -> ndarray:
    """Concatenate a list of tensors into a single tensor."""

def concat_from_sequence(input_sequence: ArrayLike, *, axis: int, new_axis: int = 0) -> ndarray:
    """Concatenate a sequence of tensors into a single tensor."""

def constant(*, sparse_value: object | None = None, value: ndarray | None = None, value_float: float | None = None, value_floats: Sequence[float] | None = None, value_int: int | None = None, value_ints: Sequence[int] | None = None, value_string: str | None = None, value_strings: Sequence[str] | None = None) -> ndarray:
    """This operator produces a constant tensor."""

def constant_of_shape(input: ArrayLike, *, value: ndarray | None = None) -> ndarray:
    """Generate a tensor with given value and shape."""

def conv(X: ArrayLike, W: ArrayLike, B: ArrayLike | None = None, *, auto_pad: str = 'NOTSET', dilations: Sequence[int] | None = None, group: int = 1, kernel_shape: Sequence[int] | None = None, pads: Sequence[int] | None = None, strides: Sequence[int] | None = None) -> ndarray:
    """The convolution operator consumes an input tensor and a filter, and computes the output."""

def conv_integer(x: ArrayLike, w: ArrayLike, x_zero_point: ArrayLike | None = None, w_zero_point: ArrayLike | None = None, *, auto_pad: str = 'NOTSET', dilations: Sequence[int] | None = None, group: int = 1, kernel_shape: Sequence[int] | None = None, pads: Sequence[int] | None = None, strides: Sequence[int] | None = None) -> ndarray:
    """The integer convolution operator consumes an input tensor, its zero-point, a filter, and its zero-point, and ..."""

def conv_transpose(X: ArrayLike, W: ArrayLike, B: ArrayLike | None = None, *, auto_pad: str = 'NOTSET', dilations: Sequence[int] | None = None, group: int = 1, kernel_shape: Sequence[int] | None = None, output_padding: Sequence[int] | None = None, output_shape: Sequence[int] | None = None, pads: Sequence[int] | None = None, strides: Sequence[int] | None = None) -> ndarray:
    """The convolution transpose operator consumes an input tensor and a filter, and computes the output."""

def cos(input: ArrayLike) -> ndarray:
    """Calculates the cosine of the given input tensor, element-wise."""

def cosh(input: ArrayLike) -> ndarray:
    """Calculates the hyperbolic cosine of the given input tensor element-wise."""

def cum_prod(x: ArrayLike, axis: ArrayLike, *, exclusive: int = 0, reverse: int = 0) -> ndarray:
    """Performs cumulative product of the input elements along the given axis."""

def cum_sum(x: ArrayLike, axis: ArrayLike, *, exclusive: int = 0, reverse: int = 0) -> ndarray:
    """Performs cumulative sum of the input elements along the given axis."""

def deform_conv(X: ArrayLike, W: ArrayLike, offset: ArrayLike, B: ArrayLike | None = None, mask: ArrayLike | None = None, *, dilations: Sequence[int] | None = None, group: int = 1, kernel_shape: Sequence[int] | None = None, offset_group: int = 1, pads: Sequence[int] | None = None, strides: Sequence[int] | None = None) -> ndarray:
    """Performs deformable convolution as described in https://arxiv.org/abs/1703.06211 and https://arxiv.org/abs/1811.11168."""

def depth_to_space(input: ArrayLike, *, blocksize: int, mode: str = 'DCR') -> ndarray:
    """DepthToSpace rearranges (permutes) data from depth into blocks of spatial data."""

def dequantize_linear(x: ArrayLike, x_scale: ArrayLike, x_zero_point: ArrayLike | None = None, *, axis: int = 1, block_size: int = 0, output_dtype: int = 0) -> ndarray:
    """The linear dequantization operator."""

def det(X: ArrayLike) -> ndarray:
    """Det calculates determinant of a square matrix or batches of square matrices."""

def dft(input: ArrayLike, dft_length: ArrayLike | None = None, axis: ArrayLike | None = None, *, inverse: int = 0, onesided: int = 0) -> ndarray:
    """Computes the discrete Fourier Transform (DFT) of the input."""

def div(A: ArrayLike, B: ArrayLike) -> ndarray:
    """Performs element-wise binary division (with Numpy-style broadcasting support)."""

def dropout(data: ArrayLike, ratio: ArrayLike | None = None, training_mode: ArrayLike | None = None, *, seed: int | None = None, outputs: int | None = None) -> ndarray | tuple[ndarray, ...]:
    """Dropout takes an input floating-point tensor, an optional input ratio (floating-point scalar) and an optional input ..."""

def dynamic_quantize_linear(x: ArrayLike) -> ndarray | tuple[ndarray, ...]:
    """A Function to fuse calculation for Scale, Zero Point and FP32->8Bit conversion of FP32 Input data."""

def einsum(*Inputs: ArrayLike, equation: str) -> ndarray:
    """An einsum of the form `term1, term2 -> output-term` produces an output tensor using the following equation"""

def elu(X: ArrayLike, *, alpha: float = 1.0) -> ndarray:
    """Elu takes one input data (Tensor<T>) and produces one output data (Tensor<T>) where the function `f(x) = alpha * ..."""

def equal(A: ArrayLike, B: ArrayLike) -> ndarray:
    """Returns the tensor resulted from performing the `equal` logical operation elementwise on the input tensors `A` and ..."""

def erf(input: ArrayLike) -> ndarray:
    """Computes the error function of the given input tensor element-wise."""

def exp(input: ArrayLike) -> ndarray:
    """Calculates the exponential of the given input tensor, element-wise."""

def expand(input: ArrayLike, shape: ArrayLike) -> ndarray:
    """Broadcast the input tensor following the given shape and the broadcast rule."""

def eye_like(input: ArrayLike, *, dtype: int | None = None, k: int = 0) -> ndarray:
    """Generate a 2D tensor (matrix) with ones on the diagonal and zeros everywhere else."""

def flatten(input: ArrayLike, *, axis: int = 1) -> ndarray:
    """Flattens the input tensor into a 2D matrix."""

def floor(X: ArrayLike) -> ndarray:
    """Floor takes one input data (Tensor<T>) and produces one output data (Tensor<T>) where the floor is, y = floor(x), is ..."""

def gather(data: ArrayLike, indices: ArrayLike, *, axis: int = 0) -> ndarray:
    """Given `data` tensor of rank r >= 1, and `indices` tensor of rank q, gather entries of the axis dimension of `data` ..."""

def gather_elements(data: ArrayLike, indices: ArrayLike, *, axis: int = 0) -> ndarray:
    """GatherElements takes two inputs `data` and `indices` of the same rank r >= 1 and an optional attribute `axis` that ..."""

def gather_nd(data: ArrayLike, indices: ArrayLike, *, batch_dims: int = 0) -> ndarray:
    """Given `data` tensor of rank `r` >= 1, `indices` tensor of rank `q` >= 1, and `batch_dims` integer `b`, this operator ..."""

def gelu(X: ArrayLike, *, approximate: str = 'none') -> ndarray:
    """Gelu takes one input data (Tensor<T>) and produces one output data (Tensor<T>) where the gaussian error linear units ..."""

def gemm(A: ArrayLike, B: ArrayLike, C: ArrayLike | None = None, *, alpha: float = 1.0, beta: float = 1.0, transA: int = 0, transB: int = 0) -> ndarray:
    """General Matrix multiplication: https://en.wikipedia.org/wiki/Basic_Linear_Algebra_Subprograms#Level_3"""

def global_average_pool(X: ArrayLike) -> ndarray:
    """GlobalAveragePool consumes an input tensor X and applies average pooling across the values in the same channel."""

def global_lp_pool(X: ArrayLike, *, p: int = 2) -> ndarray:
    """GlobalLpPool consumes an input tensor X and applies lp pool pooling across the values in the same channel."""

def global_max_pool(X: ArrayLike) -> ndarray:
    """GlobalMaxPool consumes an input tensor X and applies max pooling across the values in the same channel."""

def greater(A: ArrayLike, B: ArrayLike) -> ndarray:
    """Returns the tensor resulted from performing the `greater` logical operation elementwise on the input tensors `A` and ..."""

def greater_or_equal(A: ArrayLike, B: ArrayLike) -> ndarray:
    """Returns the tensor resulted from performing the `greater_equal` logical operation elementwise on the input tensors ..."""

def grid_sample(X: ArrayLike, grid: ArrayLike, *, align_corners: int = 0, mode: str = 'linear', padding_mode: str = 'zeros') -> ndarray:
    """Given an input `X` and a flow-field `grid`, computes the output `Y` using `X` values and pixel locations from the ..."""

def group_normalization(X: ArrayLike, scale: ArrayLike, bias: ArrayLike, *, epsilon: float = 1e-05, num_groups: int, stash_type: int = 1) -> ndarray:
    """A GroupNormalization function."""

def gru(X: ArrayLike, W: ArrayLike, R: ArrayLike, B: ArrayLike | None = None, sequence_lens: ArrayLike | None = None, initial_h: ArrayLike | None = None, *, activation_alpha: Sequence[float] | None = None, activation_beta: Sequence[float] | None = None, activations: Sequence[str] | None = None, clip: float | None = None, direction: str = 'forward', hidden_size: int | None = None, layout: int = 0, linear_before_reset: int = 0, outputs: int | None = None) -> ndarray | tuple[ndarray, ...]:
    """Computes an one-layer GRU."""

def hamming_window(size: ArrayLike, *, output_datatype: int = 1, periodic: int = 1) -> ndarray:
    """Generates a Hamming window as described in the paper https://ieeexplore.ieee.org/document/1455106."""

def hann_window(size: ArrayLike, *, output_datatype: int = 1, periodic: int = 1) -> ndarray:
    """Generates a Hann window as described in the paper https://ieeexplore.ieee.org/document/1455106."""

def hard_sigmoid(X: ArrayLike, *, alpha: float = 0.2, beta: float = 0.5) -> ndarray:
    """HardSigmoid takes one input data (Tensor<T>) and produces one output data (Tensor<T>) where the HardSigmoid ..."""

def hard_swish(X: ArrayLike) -> ndarray:
    """HardSwish takes one input data (Tensor<T>) and produces one output data (Tensor<T>) where the HardSwish function, y ..."""

def hardmax(input: ArrayLike, *, axis: int = -1) -> ndarray:
    """The operator computes the hardmax values for the given input:"""

def identity(input: ArrayLike) -> ndarray:
    """Identity operator"""

def if_(cond: ArrayLike, *, else_branch: Callable | object, then_branch: Callable | object, opset: int | None = None) -> ndarray | tuple[ndarray, ...]:
    """If conditional"""

def image_decoder(encoded_stream: ArrayLike, *, pixel_format: str = 'RGB') -> ndarray:
    """Loads and decodes and image from a file."""

def instance_normalization(input: ArrayLike, scale: ArrayLike, B: ArrayLike, *, epsilon: float = 1e-05) -> ndarray:
    """Carries out instance normalization as described in the paper https://arxiv.org/abs/1607.08022."""

def is_inf(X: ArrayLike, *, detect_negative: int = 1, detect_positive: int = 1) -> ndarray:
    """Map infinity to true and other values to false."""

def is_nan(X: ArrayLike) -> ndarray:
    """Returns which elements of the input are NaN."""

def layer_normalization(X: ArrayLike, Scale: ArrayLike, B: ArrayLike | None = None, *, axis: int = -1, epsilon: float = 1e-05, stash_type: int = 1, outputs: int | None = None) -> ndarray | tuple[ndarray, ...]:
    """This is layer normalization defined in ONNX as function."""

def leaky_relu(X: ArrayLike, *, alpha: float = 0.01) -> ndarray:
    """LeakyRelu takes input data (Tensor<T>) and an argument alpha, and produces one output data (Tensor<T>) where the ..."""

def less(A: ArrayLike, B: ArrayLike) -> ndarray:
    """Returns the tensor resulted from performing the `less` logical operation elementwise on the input tensors `A` and ..."""

def less_or_equal(A: ArrayLike, B: ArrayLike) -> ndarray:
    """Returns the tensor resulted from performing the `less_equal` logical operation elementwise on the input tensors `A` ..."""

def linear_attention(query: ArrayLike, key: ArrayLike, value: ArrayLike, past_state: ArrayLike | None = None, decay: ArrayLike | None = None, beta: ArrayLike | None = None, *, chunk_size: int = 64, kv_num_heads: int, q_num_heads: int, scale: float = 0.0, update_rule: str = 'gated_delta') -> ndarray | tuple[ndarray, ...]:
    """Unified linear attention operator for autoregressive decoding (T=1) and prefill (T>1)."""

def log(input: ArrayLike) -> ndarray:
    """Calculates the natural log of the given input tensor, element-wise."""

def log_softmax(input: ArrayLike, *, axis: int = -1) -> ndarray:
    """The operator computes the log of softmax values for the given input:"""

def loop(M: ArrayLike | None, cond: ArrayLike | None, *v_initial: ArrayLike, body: Callable | object, opset: int | None = None) -> ndarray | tuple[ndarray, ...]:
    """Generic Looping construct."""

def lp_normalization(input: ArrayLike, *, axis: int = -1, p: int = 2) -> ndarray:
    """Given a matrix, apply Lp-normalization along the provided axis."""

def lp_pool(X: ArrayLike, *, auto_pad: str = 'NOTSET', ceil_mode: int = 0, dilations: Sequence[int] | None = None, kernel_shape: Sequence[int], p: int = 2, pads: Sequence[int] | None = None, strides: Sequence[int] | None = None) -> ndarray:
    """LpPool consumes an input tensor X and applies Lp pooling across the tensor according to kernel sizes, stride sizes, ..."""

def lrn(X: ArrayLike, *, alpha: float = 0.0001, beta: float = 0.75, bias: float = 1.0, size: int) -> ndarray:
    """Local Response Normalization proposed in the [AlexNet paper](https://papers.nips.cc/paper/4824-imagenet- ..."""

def lstm(X: ArrayLike, W: ArrayLike, R: ArrayLike, B: ArrayLike | None = None, sequence_lens: ArrayLike | None = None, initial_h: ArrayLike | None = None, initial_c: ArrayLike | None = None, P: ArrayLike | None = None, *, activation_alpha: Sequence[float] | None = None, activation_beta: Sequence[float] | None = None, activations: Sequence[str] | None = None, clip: float | None = None, direction: str = 'forward', hidden_size: int | None = None, input_forget: int = 0, layout: int = 0, outputs: int | None = None) -> ndarray | tuple[ndarray, ...]:
    """Computes an one-layer LSTM."""

def mat_mul(A: ArrayLike, B: ArrayLike) -> ndarray:
    """Matrix product that behaves like [numpy.matmul](https://numpy.org/doc/stable/reference/generated/numpy.matmul.html)."""

def mat_mul_integer(A: ArrayLike, B: ArrayLike, a_zero_point: ArrayLike | None = None, b_zero_point: ArrayLike | None = None) -> ndarray:
    """Matrix product that behaves like [numpy.matmul](https://numpy.org/doc/stable/reference/generated/numpy.matmul.html)."""

def max(*data_0: ArrayLike) -> ndarray:
    """Element-wise max of each of the input tensors (with Numpy-style broadcasting support)."""

def max_pool(X: ArrayLike, *, auto_pad: str = 'NOTSET', ceil_mode: int = 0, dilations: Sequence[int] | None = None, kernel_shape: Sequence[int], pads: Sequence[int] | None = None, storage_order: int = 0, strides: Sequence[int] | None = None, outputs: int | None = None) -> ndarray | tuple[ndarray, ...]:
    """MaxPool consumes an input tensor X and applies max pooling across the tensor according to kernel sizes, stride ..."""

def max_roi_pool(X: ArrayLike, rois: ArrayLike, *, pooled_shape: Sequence[int], spatial_scale: float = 1.0) -> ndarray:
    """ROI max pool consumes an input tensor X and region of interests (RoIs) to apply max pooling across each RoI, to ..."""

def max_unpool(X: ArrayLike, I: ArrayLike, output_shape: ArrayLike | None = None, *, kernel_shape: Sequence[int], pads: Sequence[int] | None = None, strides: Sequence[int] | None = None) -> ndarray:
    """MaxUnpool essentially computes the partial inverse of the MaxPool op."""

def mean(*data_0: ArrayLike) -> ndarray:
    """Element-wise mean of each of the input tensors (with Numpy-style broadcasting support)."""

def mean_variance_normalization(X: ArrayLike, *, axes: Sequence[int] = [0, 2, 3]) -> ndarray:
    """A MeanVarianceNormalization Function: Perform mean variance normalization on the input tensor X using formula: ..."""

def mel_weight_matrix(num_mel_bins: ArrayLike, dft_length: ArrayLike, sample_rate: ArrayLike, lower_edge_hertz: ArrayLike, upper_edge_hertz: ArrayLike, *, output_datatype: int = 1) -> ndarray:
    """Generate a MelWeightMatrix that can be used to re-weight a Tensor containing a linearly sampled frequency spectra ..."""

def min(*data_0: ArrayLike) -> ndarray:
    """Element-wise min of each of the input tensors (with Numpy-style broadcasting support)."""

def mish(X: ArrayLike) -> ndarray:
    """Mish: A Self Regularized Non-Monotonic Neural Activation Function."""

def mod(A: ArrayLike, B: ArrayLike, *, fmod: int = 0) -> ndarray:
    """Performs an element-wise binary modulo operation."""

def mul(A: ArrayLike, B: ArrayLike) -> ndarray:
    """Performs element-wise binary multiplication (with Numpy-style broadcasting support)."""

def multinomial(input: ArrayLike, *, dtype: int = 6, sample_size: int = 1, seed: float | None = None) -> ndarray:
    """Generate a tensor of samples from a multinomial distribution according to the probabilities of each of the possible ..."""

def neg(X: ArrayLike) -> ndarray:
    """Neg takes one input data (Tensor<T>) and produces one output data (Tensor<T>) where each element flipped sign, y = ..."""

def negative_log_likelihood_loss(input: ArrayLike, target: ArrayLike, weight: ArrayLike | None = None, *, ignore_index: int | None = None, reduction: str = 'mean') -> ndarray:
    """A NegativeLogLikelihoodLoss operator computes (weighted) negative log likelihood loss."""

def non_max_suppression(boxes: ArrayLike, scores: ArrayLike, max_output_boxes_per_class: ArrayLike | None = None, iou_threshold: ArrayLike | None = None, score_threshold: ArrayLike | None = None, *, center_point_box: int = 0) -> ndarray:
    """Filter out boxes that have high intersection-over-union (IOU) overlap with previously selected boxes."""

def non_zero(X: ArrayLike) -> ndarray:
    """Returns the indices of the elements that are non-zero (in row-major order - by dimension)."""

def not_(X: ArrayLike) -> ndarray:
    """Returns the negation of the input tensor element-wise."""

def one_hot(indices: ArrayLike, depth: ArrayLike, values: ArrayLike, *, axis: int = -1) -> ndarray:
    """Produces a one-hot tensor based on inputs."""

def optional(input: ArrayLike | None = None, *, type: str | None = None) -> ndarray:
    """Constructs an optional-type value containing either an empty optional of a certain type specified by the attribute, ..."""

def optional_get_element(input: ArrayLike) -> ndarray:
    """If the input is a tensor or sequence type, it returns the input."""

def optional_has_element(input: ArrayLike | None = None) -> ndarray:
    """Returns true if (1) the input is an optional-type and contains an element, or, (2) the input is a tensor or sequence ..."""

def or_(A: ArrayLike, B: ArrayLike) -> ndarray:
    """Returns the tensor resulted from performing the `or` logical operation elementwise on the input tensors `A` and `B` ..."""

def p_relu(X: ArrayLike, slope: ArrayLike) -> ndarray:
    """PRelu takes input data (Tensor<T>) and slope tensor as input, and produces one output data (Tensor<T>) where the ..."""

def pad(data: ArrayLike, pads: ArrayLike, constant_value: ArrayLike | None = None, axes: ArrayLike | None = None, *, mode: str = 'constant') -> ndarray:
    """Given a tensor containing the data to be padded (`data`), a tensor containing the number of start and end pad values ..."""

def pow(X: ArrayLike, Y: ArrayLike) -> ndarray:
    """Pow takes input data (Tensor<T>) and exponent Tensor, and produces one output data (Tensor<T>) where the function ..."""

def q_linear_conv(x: ArrayLike, x_scale: ArrayLike, x_zero_point: ArrayLike, w: ArrayLike, w_scale: ArrayLike, w_zero_point: ArrayLike, y_scale: ArrayLike, y_zero_point: ArrayLike, B: ArrayLike | None = None, *, auto_pad: str = 'NOTSET', dilations: Sequence[int] | None = None, group: int = 1, kernel_shape: Sequence[int] | None = None, pads: Sequence[int] | None = None, strides: Sequence[int] | None = None) -> ndarray:
    """The convolution operator consumes a quantized input tensor, its scale and zero point, a quantized filter, its scale ..."""

def q_linear_mat_mul(a: ArrayLike, a_scale: ArrayLike, a_zero_point: ArrayLike, b: ArrayLike, b_scale: ArrayLike, b_zero_point: ArrayLike, y_scale: ArrayLike, y_zero_point: ArrayLike) -> ndarray:
    """Matrix product that behaves like [numpy.matmul](https://numpy.org/doc/stable/reference/generated/numpy.matmul.html)."""

def quantize_linear(x: ArrayLike, y_scale: ArrayLike, y_zero_point: ArrayLike | None = None, *, axis: int = 1, block_size: int = 0, output_dtype: int = 0, precision: int = 0, saturate: int = 1) -> ndarray:
    """The linear quantization operator consumes a high-precision tensor, a scale, and a zero point to compute the low- ..."""

def random_normal(*, dtype: int = 1, mean: float = 0.0, scale: float = 1.0, seed: float | None = None, shape: Sequence[int]) -> ndarray:
    """Generate a tensor with random values drawn from a normal distribution."""

def random_normal_like(input: ArrayLike, *, dtype: int | None = None, mean: float = 0.0, scale: float = 1.0, seed: float | None = None) -> ndarray:
    """Generate a tensor with random values drawn from a normal distribution."""

def random_uniform(*, dtype: int = 1, high: float = 1.0, low: float = 0.0, seed: float | None = None, shape: Sequence[int]) -> ndarray:
    """Generate a tensor with random values drawn from a uniform distribution."""

def random_uniform_like(input: ArrayLike, *, dtype: int | None = None, high: float = 1.0, low: float = 0.0, seed: float | None = None) -> ndarray:
    """Generate a tensor with random values drawn from a uniform distribution."""

def range(start: ArrayLike, limit: ArrayLike, delta: ArrayLike, *, stash_type: int = 1) -> ndarray:
    """Generate a tensor containing a sequence of numbers that begin at `start` and extends by increments of `delta` up to ..."""

def reciprocal(X: ArrayLike) -> ndarray:
    """Reciprocal takes one input data (Tensor<T>) and produces one output data (Tensor<T>) where the reciprocal is, y = ..."""

def reduce_l1(data: ArrayLike, axes: ArrayLike | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> ndarray:
    """Computes the L1 norm of the input tensor's elements along the provided axes."""

def reduce_l2(data: ArrayLike, axes: ArrayLike | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> ndarray:
    """Computes the L2 norm of the input tensor's elements along the provided axes."""

def reduce_log_sum(data: ArrayLike, axes: ArrayLike | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> ndarray:
    """Computes the log sum of the input tensor's elements along the provided axes."""

def reduce_log_sum_exp(data: ArrayLike, axes: ArrayLike | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> ndarray:
    """Computes the log sum exponent of the input tensor's elements along the provided axes."""

def reduce_max(data: ArrayLike, axes: ArrayLike | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> ndarray:
    """Computes the max of the input tensor's elements along the provided axes."""

def reduce_mean(data: ArrayLike, axes: ArrayLike | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> ndarray:
    """Computes the mean of the input tensor's elements along the provided axes."""

def reduce_min(data: ArrayLike, axes: ArrayLike | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> ndarray:
    """Computes the min of the input tensor's elements along the provided axes."""

def reduce_prod(data: ArrayLike, axes: ArrayLike | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> ndarray:
    """Computes the product of the input tensor's elements along the provided axes."""

def reduce_sum(data: ArrayLike, axes: ArrayLike | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> ndarray:
    """Computes the sum of the input tensor's elements along the provided axes."""

def reduce_sum_square(data: ArrayLike, axes: ArrayLike | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> ndarray:
    """Computes the sum square of the input tensor's elements along the provided axes."""

def regex_full_match(X: ArrayLike, *, pattern: str | None = None) -> ndarray:
    """RegexFullMatch performs a full regex match on each element of the input tensor."""

def relu(X: ArrayLike) -> ndarray:
    """Relu takes one input data (Tensor<T>) and produces one output data (Tensor<T>) where the rectified linear function, ..."""

def reshape(data: ArrayLike, shape: ArrayLike, *, allowzero: int = 0) -> ndarray:
    """Reshape the input tensor similar to numpy.reshape."""

def resize(X: ArrayLike, roi: ArrayLike | None = None, scales: ArrayLike | None = None, sizes: ArrayLike | None = None, *, antialias: int = 0, axes: Sequence[int] | None = None, coordinate_transformation_mode: str = 'half_pixel', cubic_coeff_a: float = -0.75, exclude_outside: int = 0, extrapolation_value: float = 0.0, keep_aspect_ratio_policy: str = 'stretch', mode: str = 'nearest', nearest_mode: str = 'round_prefer_floor') -> ndarray:
    """Resize the input tensor."""

def reverse_sequence(input: ArrayLike, sequence_lens: ArrayLike, *, batch_axis: int = 1, time_axis: int = 0) -> ndarray:
    """Reverse batch of sequences having different lengths specified by `sequence_lens`."""

def rms_normalization(X: ArrayLike, scale: ArrayLike, *, axis: int = -1, epsilon: float = 1e-05, stash_type: int = 1) -> ndarray:
    """This is RMS normalization defined in ONNX as function as described in the paper https://arxiv.org/pdf/1910.07467."""

def rnn(X: ArrayLike, W: ArrayLike, R: ArrayLike, B: ArrayLike | None = None, sequence_lens: ArrayLike | None = None, initial_h: ArrayLike | None = None, *, activation_alpha: Sequence[float] | None = None, activation_beta: Sequence[float] | None = None, activations: Sequence[str] = ['Tanh', 'Tanh'], clip: float | None = None, direction: str = 'forward', hidden_size: int | None = None, layout: int = 0, outputs: int | None = None) -> ndarray | tuple[ndarray, ...]:
    """Computes an one-layer simple RNN."""

def roi_align(X: ArrayLike, rois: ArrayLike, batch_indices: ArrayLike, *, coordinate_transformation_mode: str = 'half_pixel', mode: str = 'avg', output_height: int = 1, output_width: int = 1, sampling_ratio: int = 0, spatial_scale: float = 1.0) -> ndarray:
    """Region of Interest (RoI) align operation described in the [Mask R-CNN paper](https://arxiv.org/abs/1703.06870)."""

def rotary_embedding(X: ArrayLike, cos_cache: ArrayLike, sin_cache: ArrayLike, position_ids: ArrayLike | None = None, *, interleaved: int = 0, num_heads: int | None = None, rotary_embedding_dim: int = 0) -> ndarray:
    """RotaryEmbedding is the implementation of rotary positional embeddings (RoPE) based on the paper ..."""

def round(X: ArrayLike) -> ndarray:
    """Round takes one input Tensor and rounds the values, element-wise, meaning it finds the nearest integer for each value."""

def scan(*initial_state_and_scan_inputs: ArrayLike, body: Callable | object, num_scan_inputs: int, scan_input_axes: Sequence[int] | None = None, scan_input_directions: Sequence[int] | None = None, scan_output_axes: Sequence[int] | None = None, scan_output_directions: Sequence[int] | None = None, opset: int | None = None) -> ndarray | tuple[ndarray, ...]:
    """Scan can be used to iterate over one or more scan_input tensors, constructing zero or more scan_output tensors."""

def scatter_elements(data: ArrayLike, indices: ArrayLike, updates: ArrayLike, *, axis: int = 0, reduction: str = 'none') -> ndarray:
    """ScatterElements takes three inputs `data`, `updates`, and `indices` of the same rank r >= 1 and an optional ..."""

def scatter_nd(data: ArrayLike, indices: ArrayLike, updates: ArrayLike, *, reduction: str = 'none') -> ndarray:
    """ScatterND takes three inputs `data` tensor of rank r >= 1, `indices` tensor of rank q >= 1, and `updates` tensor of ..."""

def selu(X: ArrayLike, *, alpha: float = 1.6732632, gamma: float = 1.050701) -> ndarray:
    """Selu takes one input data (Tensor<T>) and produces one output data (Tensor<T>) where the scaled exponential linear ..."""

def sequence_at(input_sequence: ArrayLike, position: ArrayLike) -> ndarray:
    """Outputs a tensor copy from the tensor at 'position' in 'input_sequence'."""

def sequence_construct(*inputs: ArrayLike) -> ndarray:
    """Construct a tensor sequence containing 'inputs' tensors."""

def sequence_empty(*, dtype: int | None = None) -> ndarray:
    """Construct an empty tensor sequence, with given data type."""

def sequence_erase(input_sequence: ArrayLike, position: ArrayLike | None = None) -> ndarray:
    """Outputs a tensor sequence that removes the tensor at 'position' from 'input_sequence'."""

def sequence_insert(input_sequence: ArrayLike, tensor: ArrayLike, position: ArrayLike | None = None) -> ndarray:
    """Outputs a tensor sequence that inserts 'tensor' into 'input_sequence' at 'position'."""

def sequence_length(input_sequence: ArrayLike) -> ndarray:
    """Produces a scalar(tensor of empty shape) containing the number of tensors in 'input_sequence'."""

def sequence_map(input_sequence: ArrayLike, *additional_inputs: ArrayLike, body: Callable | object, opset: int | None = None) -> ndarray | tuple[ndarray, ...]:
    """Applies a sub-graph to each sample in the input sequence(s)."""

def shape(data: ArrayLike, *, end: int | None = None, start: int = 0) -> ndarray:
    """Takes a tensor as input and outputs an 1D int64 tensor containing the shape of the input tensor."""

def shrink(input: ArrayLike, *, bias: float = 0.0, lambd: float = 0.5) -> ndarray:
    """Shrink takes one input data (Tensor<numeric>) and produces one Tensor output, having same datatype and shape with input."""

def sigmoid(X: ArrayLike) -> ndarray:
    """Sigmoid takes one input data (Tensor<T>) and produces one output data (Tensor<T>) where the sigmoid function, y = 1 ..."""

def sign(input: ArrayLike) -> ndarray:
    """Calculate the sign of the given input tensor element-wise."""

def sin(input: ArrayLike) -> ndarray:
    """Calculates the sine of the given input tensor, element-wise."""

def sinh(input: ArrayLike) -> ndarray:
    """Calculates the hyperbolic sine of the given input tensor element-wise."""

def size(data: ArrayLike) -> ndarray:
    """Takes a tensor as input and outputs a int64 scalar that equals to the total number of elements of the input tensor."""

def slice(data: ArrayLike, starts: ArrayLike, ends: ArrayLike, axes: ArrayLike | None = None, steps: ArrayLike | None = None) -> ndarray:
    """Produces a slice of the input tensor along multiple axes."""

def softmax(input: ArrayLike, *, axis: int = -1) -> ndarray:
    """The operator computes the normalized exponential values for the given input:"""

def softmax_cross_entropy_loss(scores: ArrayLike, labels: ArrayLike, weights: ArrayLike | None = None, *, ignore_index: int | None = None, reduction: str = 'mean', outputs: int | None = None) -> ndarray | tuple[ndarray, ...]:
    """Loss function that measures the softmax cross entropy between 'scores' and 'labels'."""

def softplus(X: ArrayLike) -> ndarray:
    """Softplus takes one input data (Tensor<T>) and produces one output data (Tensor<T>) where the softplus function, y = ..."""

def softsign(input: ArrayLike) -> ndarray:
    """Calculates the softsign (x/(1+|x|)) of the given input tensor element-wise."""

def space_to_depth(input: ArrayLike, *, blocksize: int, mode: str = 'DCR') -> ndarray:
    """SpaceToDepth rearranges blocks of spatial data into depth."""

def split(input: ArrayLike, split: ArrayLike | None = None, *, axis: int = 0, num_outputs: int | None = None, outputs: int | None = None) -> ndarray | tuple[ndarray, ...]:
    """Split a tensor into a list of tensors, along the specified 'axis'."""

def split_to_sequence(input: ArrayLike, split: ArrayLike | None = None, *, axis: int = 0, keepdims: int = 1) -> ndarray:
    """Split a tensor into a sequence of tensors, along the specified 'axis'."""

def sqrt(X: ArrayLike) -> ndarray:
    """Square root takes one input data (Tensor<T>) and produces one output data (Tensor<T>) where the square root is, y = ..."""

def squeeze(data: ArrayLike, axes: ArrayLike | None = None) -> ndarray:
    """Remove single-dimensional entries from the shape of a tensor."""

def stft(signal: ArrayLike, frame_step: ArrayLike, window: ArrayLike | None = None, frame_length: ArrayLike | None = None, *, onesided: int = 1) -> ndarray:
    """Computes the Short-time Fourier Transform of the signal."""

def string_concat(X: ArrayLike, Y: ArrayLike) -> ndarray:
    """StringConcat concatenates string tensors elementwise (with NumPy-style broadcasting support)"""

def string_normalizer(X: ArrayLike, *, case_change_action: str = 'NONE', is_case_sensitive: int = 0, locale: str | None = None, stopwords: Sequence[str] | None = None) -> ndarray:
    """StringNormalization performs string operations for basic cleaning."""

def string_split(X: ArrayLike, *, delimiter: str | None = None, maxsplit: int | None = None) -> ndarray | tuple[ndarray, ...]:
    """StringSplit splits a string tensor's elements into substrings based on a delimiter attribute and a maxsplit attribute."""

def sub(A: ArrayLike, B: ArrayLike) -> ndarray:
    """Performs element-wise binary subtraction (with Numpy-style broadcasting support)."""

def sum(*data_0: ArrayLike) -> ndarray:
    """Element-wise sum of each of the input tensors (with Numpy-style broadcasting support)."""

def swi_glu(A: ArrayLike, B: ArrayLike, *, alpha: float = 1.0) -> ndarray:
    """SwiGLU is a gated activation that takes two inputs, a gate `A` and a linear (value) input `B`, and produces one ..."""

def swish(X: ArrayLike, *, alpha: float = 1.0) -> ndarray:
    """Swish function takes one input data (Tensor<T>) and produces one output data (Tensor<T>) of the same shape, where ..."""

def tan(input: ArrayLike) -> ndarray:
    """Calculates the tangent of the given input tensor, element-wise."""

def tanh(input: ArrayLike) -> ndarray:
    """Calculates the hyperbolic tangent of the given input tensor element-wise."""

def tensor_scatter(past_cache: ArrayLike, update: ArrayLike, write_indices: ArrayLike | None = None, *, axis: int = -2, mode: str = 'linear') -> ndarray:
    """TensorScatter is a generic tensor update operation, motivated by the requirements for KV cache updates for Attention ..."""

def tf_idf_vectorizer(X: ArrayLike, *, max_gram_length: int, max_skip_count: int, min_gram_length: int, mode: str, ngram_counts: Sequence[int], ngram_indexes: Sequence[int], pool_int64s: Sequence[int] | None = None, pool_strings: Sequence[str] | None = None, weights: Sequence[float] | None = None) -> ndarray:
    """This transform extracts n-grams from the input sequence and save them as a vector."""

def thresholded_relu(X: ArrayLike, *, alpha: float = 1.0) -> ndarray:
    """ThresholdedRelu takes one input data (Tensor<T>) and produces one output data (Tensor<T>) where the rectified linear ..."""

def tile(input: ArrayLike, repeats: ArrayLike) -> ndarray:
    """Constructs a tensor by tiling a given tensor."""

def top_k(X: ArrayLike, K: ArrayLike, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> ndarray | tuple[ndarray, ...]:
    """Retrieve the top-K largest or smallest elements along a specified axis."""

def transpose(data: ArrayLike, *, perm: Sequence[int] | None = None) -> ndarray:
    """Returns a transpose of the input tensor."""

def trilu(input: ArrayLike, k: ArrayLike | None = None, *, upper: int = 1) -> ndarray:
    """Given a 2-D matrix or batches of 2-D matrices, returns the upper or lower triangular part of the tensor(s)."""

def unique(X: ArrayLike, *, axis: int | None = None, sorted: int = 1, outputs: int | None = None) -> ndarray | tuple[ndarray, ...]:
    """Find the unique elements of a tensor."""

def unsqueeze(data: ArrayLike, axes: ArrayLike) -> ndarray:
    """Insert single-dimensional entries to the shape of an input tensor (`data`)."""

def where(condition: ArrayLike, X: ArrayLike, Y: ArrayLike) -> ndarray:
    """Return elements, either from X or Y, depending on condition."""

def xor(A: ArrayLike, B: ArrayLike) -> ndarray:
    """Returns the tensor resulted from performing the `xor` logical operation elementwise on the input tensors `A` and `B` ..."""

affinegrid = affine_grid
argmax = arg_max
argmin = arg_min
averagepool = average_pool
batchnormalization = batch_normalization
bitcast = bit_cast
bitshift = bit_shift
bitwiseand = bitwise_and
bitwisenot = bitwise_not
bitwiseor = bitwise_or
bitwisexor = bitwise_xor
blackmanwindow = blackman_window
castlike = cast_like
causalconvwithstate = causal_conv_with_state
centercroppad = center_crop_pad
col2im = col2_im
concatfromsequence = concat_from_sequence
constantofshape = constant_of_shape
convinteger = conv_integer
convtranspose = conv_transpose
cumprod = cum_prod
cumsum = cum_sum
deformconv = deform_conv
depthtospace = depth_to_space
dequantizelinear = dequantize_linear
dynamicquantizelinear = dynamic_quantize_linear
eyelike = eye_like
gatherelements = gather_elements
gathernd = gather_nd
globalaveragepool = global_average_pool
globallppool = global_lp_pool
globalmaxpool = global_max_pool
greaterorequal = greater_or_equal
gridsample = grid_sample
groupnormalization = group_normalization
hammingwindow = hamming_window
hannwindow = hann_window
hardsigmoid = hard_sigmoid
hardswish = hard_swish
imagedecoder = image_decoder
instancenormalization = instance_normalization
isinf = is_inf
isnan = is_nan
layernormalization = layer_normalization
leakyrelu = leaky_relu
lessorequal = less_or_equal
linearattention = linear_attention
logsoftmax = log_softmax
lpnormalization = lp_normalization
lppool = lp_pool
matmul = mat_mul
matmulinteger = mat_mul_integer
maxpool = max_pool
maxroipool = max_roi_pool
maxunpool = max_unpool
meanvariancenormalization = mean_variance_normalization
melweightmatrix = mel_weight_matrix
negativeloglikelihoodloss = negative_log_likelihood_loss
nonmaxsuppression = non_max_suppression
nonzero = non_zero
onehot = one_hot
optionalgetelement = optional_get_element
optionalhaselement = optional_has_element
prelu = p_relu
qlinearconv = q_linear_conv
qlinearmatmul = q_linear_mat_mul
quantizelinear = quantize_linear
randomnormal = random_normal
randomnormallike = random_normal_like
randomuniform = random_uniform
randomuniformlike = random_uniform_like
reducel1 = reduce_l1
reducel2 = reduce_l2
reducelogsum = reduce_log_sum
reducelogsumexp = reduce_log_sum_exp
reducemax = reduce_max
reducemean = reduce_mean
reducemin = reduce_min
reduceprod = reduce_prod
reducesum = reduce_sum
reducesumsquare = reduce_sum_square
regexfullmatch = regex_full_match
reversesequence = reverse_sequence
rmsnormalization = rms_normalization
roialign = roi_align
rotaryembedding = rotary_embedding
scatterelements = scatter_elements
scatternd = scatter_nd
sequenceat = sequence_at
sequenceconstruct = sequence_construct
sequenceempty = sequence_empty
sequenceerase = sequence_erase
sequenceinsert = sequence_insert
sequencelength = sequence_length
sequencemap = sequence_map
softmaxcrossentropyloss = softmax_cross_entropy_loss
spacetodepth = space_to_depth
splittosequence = split_to_sequence
stringconcat = string_concat
stringnormalizer = string_normalizer
stringsplit = string_split
swiglu = swi_glu
tensorscatter = tensor_scatter
tfidfvectorizer = tf_idf_vectorizer
thresholdedrelu = thresholded_relu
topk = top_k
