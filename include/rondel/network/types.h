// Types of the network builder: extents, element types, weights and the enumerations of layers,
// with TensorRT's names and values.
#pragma once
#include <rondel/dtype.h>
#include <rondel/export.h>

#include <cstdint>
#include <string>

namespace rondel::network {

/// Element types. The first twelve have TensorRT's names and numbers, the others are ours.
enum class DataType : std::int32_t {
  kFLOAT = 0,
  kHALF = 1,
  kINT8 = 2,
  kINT32 = 3,
  kBOOL = 4,
  kUINT8 = 5,
  kFP8 = 6,  ///< f8e4m3fn
  kBF16 = 7,
  kINT64 = 8,
  kINT4 = 9,
  kFP4 = 10,  ///< f4e2m1
  kE8M0 = 11,
  kDOUBLE = 100,
  kINT16,
  kUINT16,
  kUINT32,
  kUINT64,
  kUINT4,
  kINT2,
  kUINT2,
  kFP8E4M3FNUZ,
  kFP8E5M2,
  kFP8E5M2FNUZ,
  kCOMPLEX64,
  kCOMPLEX128,
  kSTRING,
};
/// Conversions to and from the element types of the rest of Rondel.
RONDEL_API DType dtype(DataType);
RONDEL_API DataType data_type(DType);

/// Extents, outermost first. -1: known only at run time. `nbDims` is -1 if the rank is not known.
struct Dims {
  static constexpr std::int32_t MAX_DIMS = 8;
  std::int32_t nbDims = 0;
  std::int64_t d[MAX_DIMS] = {};
};
using Dims64 = Dims;
struct Dims2 : Dims {
  Dims2() : Dims2(0, 0) {}
  Dims2(std::int64_t d0, std::int64_t d1) : Dims{2, {d0, d1}} {}
};
struct DimsHW : Dims2 {
  DimsHW() = default;
  DimsHW(std::int64_t height, std::int64_t width) : Dims2(height, width) {}
  std::int64_t& h() { return d[0]; }
  std::int64_t h() const { return d[0]; }
  std::int64_t& w() { return d[1]; }
  std::int64_t w() const { return d[1]; }
};
struct Dims3 : Dims {
  Dims3() : Dims3(0, 0, 0) {}
  Dims3(std::int64_t d0, std::int64_t d1, std::int64_t d2) : Dims{3, {d0, d1, d2}} {}
};
struct Dims4 : Dims {
  Dims4() : Dims4(0, 0, 0, 0) {}
  Dims4(std::int64_t d0, std::int64_t d1, std::int64_t d2, std::int64_t d3)
      : Dims{4, {d0, d1, d2, d3}} {}
};

/// `count` elements at `values`, copied when they are passed to a layer. 4-bit types are packed two
/// to a byte, 2-bit types four to a byte, low bits first. kSTRING points to std::string objects.
struct Weights {
  DataType type = DataType::kFLOAT;
  const void* values = nullptr;
  std::int64_t count = 0;
};

/// Axis i of the result is axis order[i] of the input. Default: the identity.
struct Permutation {
  std::int32_t order[Dims::MAX_DIMS] = {0, 1, 2, 3, 4, 5, 6, 7};
};

/// Includes kinds of layers that Rondel does not have, so that a `switch` over all of TensorRT's
/// kinds compiles.
enum class LayerType : std::int32_t {
  kCONVOLUTION = 0,
  kCAST = 1,
  kACTIVATION = 2,
  kPOOLING = 3,
  kLRN = 4,
  kSCALE = 5,
  kSOFTMAX = 6,
  kDECONVOLUTION = 7,
  kCONCATENATION = 8,
  kELEMENTWISE = 9,
  kPLUGIN = 10,
  kUNARY = 11,
  kPADDING = 12,
  kSHUFFLE = 13,
  kREDUCE = 14,
  kTOPK = 15,
  kGATHER = 16,
  kMATRIX_MULTIPLY = 17,
  kRAGGED_SOFTMAX = 18,
  kCONSTANT = 19,
  kIDENTITY = 20,
  kPLUGIN_V2 = 21,
  kSLICE = 22,
  kSHAPE = 23,
  kPARAMETRIC_RELU = 24,
  kRESIZE = 25,
  kTRIP_LIMIT = 26,
  kRECURRENCE = 27,
  kITERATOR = 28,
  kLOOP_OUTPUT = 29,
  kSELECT = 30,
  kFILL = 31,
  kQUANTIZE = 32,
  kDEQUANTIZE = 33,
  kCONDITION = 34,
  kCONDITIONAL_INPUT = 35,
  kCONDITIONAL_OUTPUT = 36,
  kSCATTER = 37,
  kEINSUM = 38,
  kASSERTION = 39,
  kONE_HOT = 40,
  kNON_ZERO = 41,
  kGRID_SAMPLE = 42,
  kNMS = 43,
  kREVERSE_SEQUENCE = 44,
  kNORMALIZATION = 45,
  kPLUGIN_V3 = 46,
  kSQUEEZE = 47,
  kUNSQUEEZE = 48,
  kCUMULATIVE = 49,
  kDYNAMIC_QUANTIZE = 50,
};

enum class ActivationType : std::int32_t {
  kRELU = 0,
  kSIGMOID = 1,
  kTANH = 2,
  kLEAKY_RELU = 3,         ///< x >= 0 ? x : alpha x
  kELU = 4,                ///< x >= 0 ? x : alpha (exp(x) - 1)
  kSELU = 5,               ///< x > 0 ? beta x : beta (alpha exp(x) - alpha)
  kSOFTSIGN = 6,           ///< x / (1 + |x|)
  kSOFTPLUS = 7,           ///< alpha log(exp(beta x) + 1)
  kCLIP = 8,               ///< max(alpha, min(beta, x))
  kHARD_SIGMOID = 9,       ///< max(0, min(1, alpha x + beta))
  kSCALED_TANH = 10,       ///< alpha tanh(beta x)
  kTHRESHOLDED_RELU = 11,  ///< x > alpha ? x : 0
  kGELU_ERF = 12,
  kGELU_TANH = 13,
};

enum class ElementWiseOperation : std::int32_t {
  kSUM = 0,
  kPROD = 1,
  kMAX = 2,
  kMIN = 3,
  kSUB = 4,
  kDIV = 5,
  kPOW = 6,
  kFLOOR_DIV = 7,
  kAND = 8,
  kOR = 9,
  kXOR = 10,
  kEQUAL = 11,
  kGREATER = 12,
  kLESS = 13,
};

enum class UnaryOperation : std::int32_t {
  kEXP = 0,
  kLOG = 1,
  kSQRT = 2,
  kRECIP = 3,
  kABS = 4,
  kNEG = 5,
  kSIN = 6,
  kCOS = 7,
  kTAN = 8,
  kSINH = 9,
  kCOSH = 10,
  kASIN = 11,
  kACOS = 12,
  kATAN = 13,
  kASINH = 14,
  kACOSH = 15,
  kATANH = 16,
  kCEIL = 17,
  kFLOOR = 18,
  kERF = 19,
  kNOT = 20,
  kSIGN = 21,
  kROUND = 22,
  kISINF = 23,
  kISNAN = 24,
};

enum class ReduceOperation : std::int32_t { kSUM = 0, kPROD = 1, kMAX = 2, kMIN = 3, kAVG = 4 };
enum class CumulativeOperation : std::int32_t { kSUM = 0 };
enum class MatrixOperation : std::int32_t { kNONE = 0, kTRANSPOSE = 1, kVECTOR = 2 };
enum class GatherMode : std::int32_t { kDEFAULT = 0, kELEMENT = 1, kND = 2 };
enum class ScatterMode : std::int32_t { kELEMENT = 0, kND = 1 };
enum class TopKOperation : std::int32_t { kMAX = 0, kMIN = 1 };
enum class PoolingType : std::int32_t { kMAX = 0, kAVERAGE = 1, kMAX_AVERAGE_BLEND = 2 };
enum class PaddingMode : std::int32_t {
  kEXPLICIT_ROUND_DOWN = 0,
  kEXPLICIT_ROUND_UP = 1,
  kSAME_UPPER = 2,
  kSAME_LOWER = 3,
};
enum class ScaleMode : std::int32_t { kUNIFORM = 0, kCHANNEL = 1, kELEMENTWISE = 2 };
enum class FillOperation : std::int32_t { kLINSPACE = 0, kRANDOM_UNIFORM = 1, kRANDOM_NORMAL = 2 };
enum class SampleMode : std::int32_t {
  kSTRICT_BOUNDS = 0,
  kDEFAULT = kSTRICT_BOUNDS,  ///< the name of older versions
  kWRAP = 1,
  kCLAMP = 2,
  kFILL = 3,
  kREFLECT = 4,
};
using SliceMode = SampleMode;

/// What limits a loop's trips: a number, or a condition tested before each trip.
enum class TripLimit : std::int32_t { kCOUNT = 0, kWHILE = 1 };
/// A result of a loop: a recurrence after the last trip, or the values of all trips concatenated.
enum class LoopOutput : std::int32_t { kLAST_VALUE = 0, kCONCATENATE = 1, kREVERSE = 2 };

/// The type of the characters of names.
using AsciiChar = char;

/// The number of TensorRT's enumerators of an enumeration, which count from 0.
template <class E> inline constexpr std::int32_t enum_max = -1;
template <> inline constexpr std::int32_t enum_max<DataType> = 12;
template <> inline constexpr std::int32_t enum_max<LayerType> = 51;
template <> inline constexpr std::int32_t enum_max<ActivationType> = 14;
template <> inline constexpr std::int32_t enum_max<ElementWiseOperation> = 14;
template <> inline constexpr std::int32_t enum_max<UnaryOperation> = 25;
template <> inline constexpr std::int32_t enum_max<ReduceOperation> = 5;
template <> inline constexpr std::int32_t enum_max<CumulativeOperation> = 1;
template <> inline constexpr std::int32_t enum_max<MatrixOperation> = 3;
template <> inline constexpr std::int32_t enum_max<GatherMode> = 3;
template <> inline constexpr std::int32_t enum_max<ScatterMode> = 2;
template <> inline constexpr std::int32_t enum_max<TopKOperation> = 2;
template <> inline constexpr std::int32_t enum_max<PoolingType> = 3;
template <> inline constexpr std::int32_t enum_max<PaddingMode> = 4;
template <> inline constexpr std::int32_t enum_max<ScaleMode> = 3;
template <> inline constexpr std::int32_t enum_max<FillOperation> = 3;
template <> inline constexpr std::int32_t enum_max<SampleMode> = 5;
template <> inline constexpr std::int32_t enum_max<TripLimit> = 2;
template <> inline constexpr std::int32_t enum_max<LoopOutput> = 3;
template <class E> constexpr std::int32_t EnumMax() noexcept {
  static_assert(enum_max<E> >= 0, "not an enumeration of the network builder");
  return enum_max<E>;
}

}  // namespace rondel::network
