"""The ops that Rondel promises to run, in all their versions: the one list for the tests."""

ELEMENTWISE = """
    Add Sub Mul Div Neg Abs Reciprocal Sqrt Exp Log Pow Mod Sign Floor Ceil Round Clip Min Max Sum Mean Relu
    Tanh Sigmoid Erf Sin Cos
    And Or Xor Not Equal Greater GreaterOrEqual Less LessOrEqual
    BitwiseAnd BitwiseOr BitwiseXor BitwiseNot BitShift
    Cast Where Identity
"""

REDUCTIONS = """
    ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare
    ArgMax ArgMin CumSum TopK Softmax
"""

QUANTIZATION = "QuantizeLinear DequantizeLinear"

RANDOM = "RandomUniform RandomUniformLike RandomNormal RandomNormalLike Bernoulli Multinomial"

PRODUCTS = "MatMul Gemm Conv ConvTranspose LSTM MatMulInteger ConvInteger QLinearMatMul QLinearConv Det LRN GlobalLpPool MaxUnpool Col2Im LpPool RoiAlign MaxRoiPool DeformConv"

MOVEMENT = """
    Shape Size Reshape Squeeze Unsqueeze Flatten Transpose Concat Split Slice Gather Expand Tile Pad Trilu
    Range Constant ConstantOfShape NonZero Compress ReverseSequence TensorScatter BitCast
    Resize Upsample AffineGrid GridSample NonMaxSuppression
"""

SIGNAL = "DFT STFT MelWeightMatrix ImageDecoder"

TEXT = "StringConcat StringSplit StringNormalizer RegexFullMatch TfIdfVectorizer"

SEQUENCES = """
    SequenceConstruct SequenceEmpty SequenceInsert SequenceErase SequenceAt SequenceLength
    SplitToSequence ConcatFromSequence
    Optional OptionalHasElement OptionalGetElement
"""

CONTROL = "If Loop Scan"

TRAINING = " ".join(f"ai.onnx.preview.training.{op}" for op in ("Gradient", "Adagrad", "Adam", "Momentum"))

LEARNED = " ".join(
    f"ai.onnx.ml.{op}"
    for op in """
    ArrayFeatureExtractor Binarizer CastMap CategoryMapper DictVectorizer FeatureVectorizer Imputer LabelEncoder LinearClassifier LinearRegressor Normalizer
    OneHotEncoder SVMClassifier SVMRegressor Scaler TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor ZipMap
    """.split()
)

SUPPORTED = frozenset(" ".join([ELEMENTWISE, REDUCTIONS, QUANTIZATION, RANDOM, PRODUCTS, MOVEMENT, SIGNAL, TEXT, SEQUENCES, CONTROL, TRAINING, LEARNED]).split())
