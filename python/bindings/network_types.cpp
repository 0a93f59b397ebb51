#include "network_types.h"

#include <initializer_list>

namespace nb = nanobind;
using namespace rondel::network;

namespace rondel::python {
namespace {

template <class E> struct Named {
  const char* name;
  E value;
  const char* doc = nullptr;
};

template <class E>
void bind_enum(nb::module_& m, const char* name, const char* doc,
               std::initializer_list<Named<E>> values) {
  nb::enum_<E> made(m, name, doc, nb::is_arithmetic());
  for (const Named<E>& v : values) made.value(v.name, v.value, v.doc);
  made.attr("__module__") = "rondel.network";
}

void bind_data_type(nb::module_& m) {
  using T = DataType;
  bind_enum<T>(m, "DataType", "The type of a tensor's elements.",
               {{"FLOAT", T::kFLOAT, "32 bits"},
                {"HALF", T::kHALF, "16 bits, IEEE"},
                {"INT8", T::kINT8},
                {"INT32", T::kINT32},
                {"BOOL", T::kBOOL},
                {"UINT8", T::kUINT8},
                {"FP8", T::kFP8, "8 bits: 4 of exponent, 3 of mantissa, no infinities"},
                {"BF16", T::kBF16, "the upper half of FLOAT"},
                {"INT64", T::kINT64},
                {"INT4", T::kINT4},
                {"FP4", T::kFP4, "4 bits: 2 of exponent, 1 of mantissa"},
                {"E8M0", T::kE8M0, "8 bits of exponent: a power of two"},
                {"DOUBLE", T::kDOUBLE, "64 bits"},
                {"INT16", T::kINT16},
                {"UINT16", T::kUINT16},
                {"UINT32", T::kUINT32},
                {"UINT64", T::kUINT64},
                {"UINT4", T::kUINT4},
                {"INT2", T::kINT2},
                {"UINT2", T::kUINT2},
                {"FP8E4M3FNUZ", T::kFP8E4M3FNUZ},
                {"FP8E5M2", T::kFP8E5M2},
                {"FP8E5M2FNUZ", T::kFP8E5M2FNUZ},
                {"COMPLEX64", T::kCOMPLEX64},
                {"COMPLEX128", T::kCOMPLEX128},
                {"STRING", T::kSTRING}});
  m.def("dtype_name", [](T t) { return std::string(name(dtype(t))); });
}

void bind_layer_type(nb::module_& m) {
  using T = LayerType;
  bind_enum<T>(m, "LayerType", "What kind of layer a layer is.",
               {{"CONVOLUTION", T::kCONVOLUTION},
                {"CAST", T::kCAST},
                {"ACTIVATION", T::kACTIVATION},
                {"POOLING", T::kPOOLING},
                {"LRN", T::kLRN},
                {"SCALE", T::kSCALE},
                {"SOFTMAX", T::kSOFTMAX},
                {"DECONVOLUTION", T::kDECONVOLUTION},
                {"CONCATENATION", T::kCONCATENATION},
                {"ELEMENTWISE", T::kELEMENTWISE},
                {"PLUGIN", T::kPLUGIN},
                {"UNARY", T::kUNARY},
                {"PADDING", T::kPADDING},
                {"SHUFFLE", T::kSHUFFLE},
                {"REDUCE", T::kREDUCE},
                {"TOPK", T::kTOPK},
                {"GATHER", T::kGATHER},
                {"MATRIX_MULTIPLY", T::kMATRIX_MULTIPLY},
                {"RAGGED_SOFTMAX", T::kRAGGED_SOFTMAX},
                {"CONSTANT", T::kCONSTANT},
                {"IDENTITY", T::kIDENTITY},
                {"PLUGIN_V2", T::kPLUGIN_V2},
                {"SLICE", T::kSLICE},
                {"SHAPE", T::kSHAPE},
                {"PARAMETRIC_RELU", T::kPARAMETRIC_RELU},
                {"RESIZE", T::kRESIZE},
                {"TRIP_LIMIT", T::kTRIP_LIMIT},
                {"RECURRENCE", T::kRECURRENCE},
                {"ITERATOR", T::kITERATOR},
                {"LOOP_OUTPUT", T::kLOOP_OUTPUT},
                {"SELECT", T::kSELECT},
                {"FILL", T::kFILL},
                {"QUANTIZE", T::kQUANTIZE},
                {"DEQUANTIZE", T::kDEQUANTIZE},
                {"CONDITION", T::kCONDITION},
                {"CONDITIONAL_INPUT", T::kCONDITIONAL_INPUT},
                {"CONDITIONAL_OUTPUT", T::kCONDITIONAL_OUTPUT},
                {"SCATTER", T::kSCATTER},
                {"EINSUM", T::kEINSUM},
                {"ASSERTION", T::kASSERTION},
                {"ONE_HOT", T::kONE_HOT},
                {"NON_ZERO", T::kNON_ZERO},
                {"GRID_SAMPLE", T::kGRID_SAMPLE},
                {"NMS", T::kNMS},
                {"REVERSE_SEQUENCE", T::kREVERSE_SEQUENCE},
                {"NORMALIZATION", T::kNORMALIZATION},
                {"PLUGIN_V3", T::kPLUGIN_V3},
                {"SQUEEZE", T::kSQUEEZE},
                {"UNSQUEEZE", T::kUNSQUEEZE},
                {"CUMULATIVE", T::kCUMULATIVE},
                {"DYNAMIC_QUANTIZE", T::kDYNAMIC_QUANTIZE}});
}

void bind_activation_type(nb::module_& m) {
  using T = ActivationType;
  bind_enum<T>(m, "ActivationType", "An activation, of x and up to two numbers.",
               {{"RELU", T::kRELU, "max(x, 0)"},
                {"SIGMOID", T::kSIGMOID, "1 / (1 + exp(-x))"},
                {"TANH", T::kTANH},
                {"LEAKY_RELU", T::kLEAKY_RELU, "x >= 0 ? x : alpha x"},
                {"ELU", T::kELU, "x >= 0 ? x : alpha (exp(x) - 1)"},
                {"SELU", T::kSELU, "x > 0 ? beta x : beta (alpha exp(x) - alpha)"},
                {"SOFTSIGN", T::kSOFTSIGN, "x / (1 + |x|)"},
                {"SOFTPLUS", T::kSOFTPLUS, "alpha log(exp(beta x) + 1)"},
                {"CLIP", T::kCLIP, "max(alpha, min(beta, x))"},
                {"HARD_SIGMOID", T::kHARD_SIGMOID, "max(0, min(1, alpha x + beta))"},
                {"SCALED_TANH", T::kSCALED_TANH, "alpha tanh(beta x)"},
                {"THRESHOLDED_RELU", T::kTHRESHOLDED_RELU, "x > alpha ? x : 0"},
                {"GELU_ERF", T::kGELU_ERF},
                {"GELU_TANH", T::kGELU_TANH}});
}

void bind_operations(nb::module_& m) {
  using E = ElementWiseOperation;
  bind_enum<E>(m, "ElementWiseOperation", "What is done with a pair of elements.",
               {{"SUM", E::kSUM},
                {"PROD", E::kPROD},
                {"MAX", E::kMAX},
                {"MIN", E::kMIN},
                {"SUB", E::kSUB},
                {"DIV", E::kDIV},
                {"POW", E::kPOW},
                {"FLOOR_DIV", E::kFLOOR_DIV},
                {"AND", E::kAND},
                {"OR", E::kOR},
                {"XOR", E::kXOR},
                {"EQUAL", E::kEQUAL},
                {"GREATER", E::kGREATER},
                {"LESS", E::kLESS}});
  using U = UnaryOperation;
  bind_enum<U>(
      m, "UnaryOperation", "What is done with an element.",
      {{"EXP", U::kEXP},     {"LOG", U::kLOG},   {"SQRT", U::kSQRT},   {"RECIP", U::kRECIP},
       {"ABS", U::kABS},     {"NEG", U::kNEG},   {"SIN", U::kSIN},     {"COS", U::kCOS},
       {"TAN", U::kTAN},     {"SINH", U::kSINH}, {"COSH", U::kCOSH},   {"ASIN", U::kASIN},
       {"ACOS", U::kACOS},   {"ATAN", U::kATAN}, {"ASINH", U::kASINH}, {"ACOSH", U::kACOSH},
       {"ATANH", U::kATANH}, {"CEIL", U::kCEIL}, {"FLOOR", U::kFLOOR}, {"ERF", U::kERF},
       {"NOT", U::kNOT},     {"SIGN", U::kSIGN}, {"ROUND", U::kROUND}, {"ISINF", U::kISINF},
       {"ISNAN", U::kISNAN}});
  using R = ReduceOperation;
  bind_enum<R>(
      m, "ReduceOperation", "The reduction.",
      {{"SUM", R::kSUM}, {"PROD", R::kPROD}, {"MAX", R::kMAX}, {"MIN", R::kMIN}, {"AVG", R::kAVG}});
  bind_enum<CumulativeOperation>(m, "CumulativeOperation", "What is accumulated.",
                                 {{"SUM", CumulativeOperation::kSUM}});
  using M = MatrixOperation;
  bind_enum<M>(m, "MatrixOperation", "How an operand of a product is used.",
               {{"NONE", M::kNONE, "matrices, in the last two axes"},
                {"TRANSPOSE", M::kTRANSPOSE, "matrices, transposed"},
                {"VECTOR", M::kVECTOR, "vectors, in the last axis"}});
  using F = FillOperation;
  bind_enum<F>(m, "FillOperation", "What a tensor is filled with.",
               {{"LINSPACE", F::kLINSPACE},
                {"RANDOM_UNIFORM", F::kRANDOM_UNIFORM},
                {"RANDOM_NORMAL", F::kRANDOM_NORMAL}});
  bind_enum<TopKOperation>(m, "TopKOperation", "The largest or the least.",
                           {{"MAX", TopKOperation::kMAX}, {"MIN", TopKOperation::kMIN}});
}

void bind_modes(nb::module_& m) {
  using G = GatherMode;
  bind_enum<G>(m, "GatherMode", "How indices of a gather are understood.",
               {{"DEFAULT", G::kDEFAULT}, {"ELEMENT", G::kELEMENT}, {"ND", G::kND}});
  bind_enum<ScatterMode>(m, "ScatterMode", "How indices of a scatter are understood.",
                         {{"ELEMENT", ScatterMode::kELEMENT}, {"ND", ScatterMode::kND}});
  using P = PoolingType;
  bind_enum<P>(
      m, "PoolingType", "The function of a window.",
      {{"MAX", P::kMAX}, {"AVERAGE", P::kAVERAGE}, {"MAX_AVERAGE_BLEND", P::kMAX_AVERAGE_BLEND}});
  using D = PaddingMode;
  bind_enum<D>(m, "PaddingMode", "How padding is found, and how extents are rounded.",
               {{"EXPLICIT_ROUND_DOWN", D::kEXPLICIT_ROUND_DOWN},
                {"EXPLICIT_ROUND_UP", D::kEXPLICIT_ROUND_UP},
                {"SAME_UPPER", D::kSAME_UPPER},
                {"SAME_LOWER", D::kSAME_LOWER}});
  using C = ScaleMode;
  bind_enum<C>(m, "ScaleMode", "How many numbers there are.",
               {{"UNIFORM", C::kUNIFORM, "one"},
                {"CHANNEL", C::kCHANNEL, "one per channel"},
                {"ELEMENTWISE", C::kELEMENTWISE, "one per element"}});
  using S = SampleMode;
  bind_enum<S>(m, "SampleMode", "What is read outside of a tensor.",
               {{"STRICT_BOUNDS", S::kSTRICT_BOUNDS, "nothing: it is an error"},
                {"WRAP", S::kWRAP},
                {"CLAMP", S::kCLAMP},
                {"FILL", S::kFILL},
                {"REFLECT", S::kREFLECT}});
}

void bind_loop_kinds(nb::module_& m) {
  bind_enum<TripLimit>(m, "TripLimit", "What limits a loop's trips.",
                       {{"COUNT", TripLimit::kCOUNT, "a number of trips"},
                        {"WHILE", TripLimit::kWHILE, "a test before each trip"}});
  using L = LoopOutput;
  bind_enum<L>(m, "LoopOutput", "What a loop gives to the outside.",
               {{"LAST_VALUE", L::kLAST_VALUE, "a recurrence after the last trip"},
                {"CONCATENATE", L::kCONCATENATE, "the values of all trips along a new axis"},
                {"REVERSE", L::kREVERSE, "the same, last trip first"}});
}

}  // namespace

void bind_network_types(nb::module_& m) {
  bind_data_type(m);
  bind_layer_type(m);
  bind_activation_type(m);
  bind_operations(m);
  bind_modes(m);
  bind_loop_kinds(m);
}

}  // namespace rondel::python
