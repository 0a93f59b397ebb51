// The results of single layers, and the types inferred for them.
#include "network/net.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace rondel::network {
namespace {

/// "[2,-1]"
std::string dims(const ITensor& t) {
  const Dims d = t.getDimensions();
  std::string s = "[";
  for (int a = 0; a < d.nbDims; ++a) s += (a == 0 ? "" : ",") + std::to_string(d.d[a]);
  return s + "]";
}

/// The output of a run, as text.
std::string result(Net& n, ITensor& t, const Feeds& feeds = {}) {
  n.out(t, "y");
  return text(run(n, feeds).at("y"));
}

TEST(NetworkLayer, types_are_worked_out_from_the_layers_as_they_are_now) {
  Net n;
  ITensor& x = n.in("x", DataType::kFLOAT, Dims3{2, -1, 4});
  IShuffleLayer* shuffle = n.addShuffle(x);
  EXPECT_EQ(dims(*shuffle->getOutput(0)), "[2,-1,4]");
  shuffle->setFirstTranspose({{2, 0, 1}});
  EXPECT_EQ(dims(*shuffle->getOutput(0)), "[4,2,-1]");
  shuffle->setReshapeDimensions(Dims2{-1, 8});
  EXPECT_EQ(dims(*shuffle->getOutput(0)), "[-1,8]");
  shuffle->setReshapeDimensions(Dims3{0, -1, 1});
  EXPECT_EQ(dims(*shuffle->getOutput(0)), "[4,-1,1]");
  x.setDimensions(Dims3{2, 5, 4});
  EXPECT_EQ(dims(*shuffle->getOutput(0)), "[4,10,1]");
  ITensor& shape = *n.addShape(*shuffle->getOutput(0))->getOutput(0);
  EXPECT_EQ(shape.getType(), DataType::kINT64);
  ILoop* loop = n.counted(n.i32(6));
  ITensor& row = *loop->addIterator(*shuffle->getOutput(0), 1)->getOutput(0);
  EXPECT_EQ(dims(row), "[4,1]");
  ILoopOutputLayer* out = loop->addLoopOutput(row, LoopOutput::kCONCATENATE, 1);
  EXPECT_EQ(dims(*out->getOutput(0)), "[4,6,1]");
  out->setInput(1, n.i64(9));
  EXPECT_EQ(dims(*out->getOutput(0)), "[4,9,1]");
}

TEST(NetworkLayer, matrix_products) {
  const std::vector<float> m{1, 2, 3, 4, 5, 6};
  Net n;
  ITensor& a = *n.addConstant(Dims2{2, 3}, {DataType::kFLOAT, m.data(), 6})->getOutput(0);
  ITensor& v = n.f32({1, 0, 2});
  using M = MatrixOperation;
  const auto product = [&](ITensor& p, M pm, ITensor& q, M qm, const char* name) {
    n.out(*n.addMatrixMultiply(p, pm, q, qm)->getOutput(0), name);
  };
  product(a, M::kNONE, a, M::kTRANSPOSE, "square");
  product(a, M::kNONE, v, M::kVECTOR, "right");
  product(v, M::kVECTOR, a, M::kTRANSPOSE, "left");
  product(v, M::kVECTOR, v, M::kVECTOR, "dot");
  product(a, M::kVECTOR, a, M::kVECTOR, "rows");
  const auto y = run(n);
  EXPECT_EQ(text(y.at("square")), "f32[2,2] 14 32 32 77");
  EXPECT_EQ(text(y.at("right")), "f32[2] 7 16");
  EXPECT_EQ(text(y.at("left")), "f32[2] 7 16");
  EXPECT_EQ(text(y.at("dot")), "f32[] 5");
  EXPECT_EQ(text(y.at("rows")), "f32[2] 14 77");
}

TEST(NetworkLayer, floor_division_rounds_down) {
  Net n;
  const std::int32_t p[] = {7, -7, 7, -7, 6}, q[] = {2, 2, -2, -2, 3};
  ITensor& a = *n.addConstant(Dims{1, {5}}, {DataType::kINT32, p, 5})->getOutput(0);
  ITensor& b = *n.addConstant(Dims{1, {5}}, {DataType::kINT32, q, 5})->getOutput(0);
  n.out(n.op(a, b, Op::kDIV), "div");
  EXPECT_EQ(result(n, n.op(a, b, Op::kFLOOR_DIV)), "i32[5] 3 -4 -4 3 2");
  EXPECT_EQ(text(run(n).at("div")), "i32[5] 3 -3 -3 3 2");
}

template <class Int> void floor_division_of_the_least(DataType type) {
  constexpr Int least = std::numeric_limits<Int>::min(), most = std::numeric_limits<Int>::max();
  const Int p[] = {least, least, static_cast<Int>(least + 1), most, least, most, least};
  const Int q[] = {3, most, -3, -3, least, least, 1};
  Net n;
  ITensor& a = n.in("a", type, Dims{1, {-1}});
  ITensor& b = n.in("b", type, Dims{1, {-1}});
  n.out(n.op(a, b, Op::kFLOOR_DIV), "y");
  Tensor x = Tensor::zeros(dtype(type), {7}), z = Tensor::zeros(dtype(type), {7});
  std::copy(std::begin(p), std::end(p), x.data_as<Int>());
  std::copy(std::begin(q), std::end(q), z.data_as<Int>());
  const Tensor y = run(n, {{"a", x}, {"b", z}}).at("y").tensor().packed();
  for (std::size_t k = 0; k < 7; ++k) {
    const __int128 wide = p[k], by = q[k], towards_zero = wide / by;
    const bool between = wide % by != 0 && (wide < 0) != (by < 0);
    EXPECT_EQ(y.data_as<Int>()[k], static_cast<Int>(towards_zero - (between ? 1 : 0))) << k;
  }
  z.data_as<Int>()[3] = 0;
  EXPECT_THAT(failure(n, {{"a", x}, {"b", z}}), testing::HasSubstr("integer division by zero"));
}

TEST(NetworkLayer, floor_division_near_the_least_integer) {
  floor_division_of_the_least<std::int8_t>(DataType::kINT8);
  floor_division_of_the_least<std::int16_t>(data_type(DType::i16));
  floor_division_of_the_least<std::int32_t>(DataType::kINT32);
  floor_division_of_the_least<std::int64_t>(DataType::kINT64);
}

TEST(NetworkLayer, slices_within_the_bounds_and_what_modes_do_beyond) {
  const auto slice = [](std::int64_t start, std::int64_t size, std::int64_t stride, SampleMode mode,
                        bool dynamic) {
    Net n;
    ITensor& x = n.in("x", DataType::kFLOAT, Dims{1, {dynamic ? -1 : 4}});
    ISliceLayer* s = n.addSlice(x, Dims{1, {start}}, Dims{1, {size}}, Dims{1, {stride}});
    s->setMode(mode);
    n.out(*s->getOutput(0), "y");
    try {
      return text(run(n, {{"x", Tensor::from<float>({4}, {1, 2, 3, 4})}}).at("y"));
    } catch (const Error& e) { return std::string(e.what()).substr(0, 15); }
  };
  for (const bool dynamic : {false, true}) {
    using M = SampleMode;
    EXPECT_EQ(slice(1, 2, 1, M::kSTRICT_BOUNDS, dynamic), "f32[2] 2 3");
    EXPECT_EQ(slice(0, 2, 2, M::kSTRICT_BOUNDS, dynamic), "f32[2] 1 3");
    EXPECT_EQ(slice(3, 4, -1, M::kSTRICT_BOUNDS, dynamic), "f32[4] 4 3 2 1");
    EXPECT_EQ(slice(2, 3, 0, M::kSTRICT_BOUNDS, dynamic), "f32[3] 3 3 3");
    EXPECT_EQ(slice(1, 0, 1, M::kSTRICT_BOUNDS, dynamic), "f32[0]");
    EXPECT_EQ(slice(2, 3, 1, M::kSTRICT_BOUNDS, dynamic), "layer 0 (Slice)");
    EXPECT_EQ(slice(-1, 2, 1, M::kSTRICT_BOUNDS, dynamic), "layer 0 (Slice)");
    EXPECT_EQ(slice(-5, 9, 1, M::kWRAP, dynamic), "f32[9] 4 1 2 3 4 1 2 3 4");
    EXPECT_EQ(slice(-2, 7, 1, M::kCLAMP, dynamic), "f32[7] 1 1 1 2 3 4 4");
    EXPECT_EQ(slice(-2, 8, 1, M::kREFLECT, dynamic), "f32[8] 3 2 1 2 3 4 3 2");
    EXPECT_EQ(slice(-1, 6, 1, M::kFILL, dynamic), "f32[6] 0 1 2 3 4 0");
  }
}

TEST(NetworkLayer, slices_by_values_known_when_running) {
  Net n;
  ITensor& x = n.in("x", DataType::kFLOAT, Dims2{-1, 3});
  ISliceLayer* s = n.addSlice(x, Dims2{0, 0}, Dims2{1, 1}, Dims2{1, 1});
  s->setInput(1, n.in("start", DataType::kINT32, Dims{1, {2}}));
  s->setInput(2, n.in("size", DataType::kINT64, Dims{1, {2}}));
  n.out(*s->getOutput(0), "y");
  const Session session = buildSession(n);
  const auto y = [&](int row, std::int64_t rows) {
    return text(session
                    .run({{"x", Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6})},
                          {"start", Tensor::from<std::int32_t>({2}, {row, 1})},
                          {"size", Tensor::from<std::int64_t>({2}, {rows, 2})}})
                    .at("y"));
  };
  EXPECT_EQ(y(0, 2), "f32[2,2] 2 3 5 6");
  EXPECT_EQ(y(1, 1), "f32[1,2] 5 6");
  EXPECT_THROW(y(1, 2), Error);
}

/// A slice of a vector whose start, size and stride are inputs of the run.
std::string sliced_when_running(SampleMode mode, std::vector<float> x, std::int64_t start,
                                std::int64_t size, std::int64_t stride, Dims declared = {1, {-1}}) {
  Net n;
  ISliceLayer* s = n.addSlice(n.in("x", DataType::kFLOAT, declared), Dims{1, {0}}, Dims{1, {1}},
                              Dims{1, {1}});
  s->setName("cut");
  s->setMode(mode);
  Feeds feeds{{"x", Tensor::zeros(DType::f32, {static_cast<std::int64_t>(x.size())})}};
  std::copy(x.begin(), x.end(), feeds.at("x").tensor().data_as<float>());
  const std::pair<const char*, std::int64_t> parts[] = {
      {"start", start}, {"size", size}, {"stride", stride}};
  for (std::int32_t k = 0; k < 3; ++k) {
    s->setInput(k + 1, n.in(parts[k].first, DataType::kINT64, Dims{1, {1}}));
    feeds[parts[k].first] = Tensor::from<std::int64_t>({1}, {parts[k].second});
  }
  n.out(*s->getOutput(0), "y");
  try {
    return text(run(n, feeds).at("y"));
  } catch (const Error& e) {
    EXPECT_EQ(e.blame(), Blame::caller) << e.what();
    return e.what();
  }
}

TEST(NetworkLayer, strict_slices_by_values_known_when_running_stay_within_the_bounds) {
  const auto strict = [](std::int64_t start, std::int64_t size, std::int64_t stride) {
    return sliced_when_running(SampleMode::kSTRICT_BOUNDS, {1, 2, 3, 4}, start, size, stride);
  };
  EXPECT_EQ(strict(1, 3, 1), "f32[3] 2 3 4");
  EXPECT_EQ(strict(3, 4, -1), "f32[4] 4 3 2 1");
  EXPECT_EQ(strict(3, 2, 0), "f32[2] 4 4");
  EXPECT_EQ(strict(-7, 0, -1), "f32[0]");
  EXPECT_EQ(strict(2, 1, std::numeric_limits<std::int64_t>::max()), "f32[1] 3");
  for (const auto& [start, size, stride] :
       {std::array<std::int64_t, 3>{-2, 2, 1}, {2, 3, 1}, {1, 2, -2}, {0, 2, 1LL << 62}, {9, 1, 1}})
    EXPECT_THAT(strict(start, size, stride),
                testing::HasSubstr(fmt::format(
                    "layer 'cut' (Slice): along axis 0 it takes {} elements from {} in steps of "
                    "{}, of an extent of 4; expected all within the bounds",
                    size, start, stride)));
  EXPECT_THAT(strict(1, -1, 1),
              testing::HasSubstr("layer 'cut' (Slice): along axis 0 it takes -1 elements"));
}

TEST(NetworkLayer, slices_of_an_axis_that_is_empty) {
  using M = SampleMode;
  for (const Dims& declared : {Dims{1, {0}}, Dims{1, {-1}}}) {
    const auto of_nothing = [&](M mode, std::int64_t size) {
      return sliced_when_running(mode, {}, 0, size, 0, declared);
    };
    EXPECT_EQ(of_nothing(M::kFILL, 2), "f32[2] 0 0");
    for (const M mode : {M::kSTRICT_BOUNDS, M::kFILL, M::kWRAP, M::kCLAMP, M::kREFLECT}) {
      EXPECT_EQ(of_nothing(mode, 0), "f32[0]");
      EXPECT_THAT(of_nothing(mode, -1), testing::HasSubstr("layer 'cut' (Slice)"));
    }
    for (const M mode : {M::kWRAP, M::kCLAMP, M::kREFLECT})
      EXPECT_THAT(of_nothing(mode, 2),
                  testing::AllOf(testing::HasSubstr("layer 'cut' (Slice): along axis 0"),
                                 testing::HasSubstr("there is nothing to repeat")));
    // The same with constant parameters.
    for (const M mode : {M::kSTRICT_BOUNDS, M::kFILL, M::kWRAP, M::kCLAMP, M::kREFLECT}) {
      const auto y = [&](std::int64_t size) {
        Net n;
        ISliceLayer* s = n.addSlice(n.in("x", DataType::kFLOAT, declared), Dims{1, {0}},
                                    Dims{1, {size}}, Dims{1, {0}});
        s->setMode(mode);
        n.out(*s->getOutput(0), "y");
        try {
          return text(run(n, {{"x", Tensor::zeros(DType::f32, {0})}}).at("y"));
        } catch (const Error& e) { return std::string(e.what()).substr(0, 15); }
      };
      EXPECT_EQ(y(0), "f32[0]");
      EXPECT_EQ(y(2), mode == M::kFILL ? "f32[2] 0 0" : "layer 0 (Slice)");
    }
  }
}

TEST(NetworkLayer, a_slice_of_no_elements_may_go_any_way) {
  Net n;
  ITensor& x = n.f32({1, 2, 3, 4});
  EXPECT_EQ(result(n, *n.addSlice(x, Dims{1, {-2}}, Dims{1, {0}}, Dims{1, {-1}})->getOutput(0)),
            "f32[0]");
}

TEST(NetworkLayer, integers_that_say_where_are_integers) {
  Net n;
  n.out(*n.addUnsqueeze(n.f32({1, 2}), n.f32(0))->getOutput(0), "y");
  EXPECT_THAT(refusal(n), testing::HasSubstr("its input 1, axes, is f32[]; expected integers"));
}

TEST(NetworkLayer, a_uniform_scale_of_tensors_of_any_rank) {
  const std::vector<float> two{2};
  const Weights w{DataType::kFLOAT, two.data(), 1};
  Net n;
  n.out(*n.addScale(n.f32(3), ScaleMode::kUNIFORM, {}, w, {})->getOutput(0), "scalar");
  n.out(*n.addScale(n.f32({3, 4}), ScaleMode::kUNIFORM, {}, w, {})->getOutput(0), "vector");
  const auto y = run(n);
  EXPECT_EQ(text(y.at("scalar")), "f32[] 6");
  EXPECT_EQ(text(y.at("vector")), "f32[2] 6 8");
}

template <class Index> void gather_in_three_modes(DataType type) {
  Net n;
  const float m[] = {1, 2, 3, 4, 5, 6};
  const Index i[] = {2, 0}, e[] = {2, 0, 1, 1}, p[] = {1, 2, 0, 0};
  ITensor& x = *n.addConstant(Dims2{2, 3}, {DataType::kFLOAT, m, 6})->getOutput(0);
  ITensor& one = *n.addConstant(Dims{1, {2}}, {type, i, 2})->getOutput(0);
  ITensor& each = *n.addConstant(Dims2{2, 2}, {type, e, 4})->getOutput(0);
  ITensor& pairs = *n.addConstant(Dims2{2, 2}, {type, p, 4})->getOutput(0);
  n.out(*n.addGather(x, one, 1)->getOutput(0), "columns");
  IGatherLayer* elements = n.addGatherV2(x, each, GatherMode::kELEMENT);
  elements->setGatherAxis(1);
  n.out(*elements->getOutput(0), "elements");
  n.out(*n.addGatherV2(x, pairs, GatherMode::kND)->getOutput(0), "pairs");
  IGatherLayer* batch = n.addGather(x, each, 1);
  batch->setNbElementWiseDims(1);
  n.out(*batch->getOutput(0), "batch");
  const auto y = run(n);
  EXPECT_EQ(text(y.at("columns")), "f32[2,2] 3 1 6 4");
  EXPECT_EQ(text(y.at("elements")), "f32[2,2] 3 1 5 5");
  EXPECT_EQ(text(y.at("pairs")), "f32[2] 6 1");
  EXPECT_EQ(text(y.at("batch")), "f32[2,2] 3 1 5 5");
}

TEST(NetworkLayer, gathers_of_three_modes) {
  gather_in_three_modes<std::int64_t>(DataType::kINT64);
  gather_in_three_modes<std::int32_t>(DataType::kINT32);
}

TEST(NetworkLayer, fills_with_steps_along_axes) {
  Net n;
  IFillLayer* one = n.addFill(Dims{1, {4}}, FillOperation::kLINSPACE, DataType::kINT32);
  one->setAlphaInt64(5);
  one->setBetaInt64(2);
  n.out(*one->getOutput(0), "one");
  IFillLayer* two = n.addFill(Dims2{2, 3}, FillOperation::kLINSPACE);
  two->setInput(1, n.f32(1));
  two->setInput(2, n.f32({10, 0.5}));
  n.out(*two->getOutput(0), "two");
  EXPECT_EQ(text(run(n).at("one")), "i32[4] 5 7 9 11");
  EXPECT_EQ(text(run(n).at("two")), "f32[2,3] 1 1.5 2 11 11.5 12");
}

TEST(NetworkLayer, activations) {
  const auto y = [](ActivationType type, std::optional<float> alpha, std::optional<float> beta,
                    float x) {
    Net n;
    IActivationLayer* layer = n.addActivation(n.f32(x), type);
    if (alpha) layer->setAlpha(*alpha);
    if (beta) layer->setBeta(*beta);
    n.out(*layer->getOutput(0), "y");
    return run(n).at("y").tensor().data_as<float>()[0];
  };
  using A = ActivationType;
  const std::nullopt_t no = std::nullopt;
  EXPECT_FLOAT_EQ(y(A::kRELU, no, no, -1), 0);
  EXPECT_FLOAT_EQ(y(A::kSIGMOID, no, no, 0), 0.5);
  EXPECT_FLOAT_EQ(y(A::kTANH, no, no, 0.5), std::tanh(0.5F));
  EXPECT_FLOAT_EQ(y(A::kLEAKY_RELU, 0.5, no, -2), -1);
  EXPECT_FLOAT_EQ(y(A::kELU, 2, no, -1), 2 * std::expm1(-1.F));
  EXPECT_FLOAT_EQ(y(A::kSELU, 2, 3, 1), 3);
  EXPECT_FLOAT_EQ(y(A::kSELU, 2, 3, -1), 6 * std::expm1(-1.F));
  EXPECT_FLOAT_EQ(y(A::kSOFTSIGN, no, no, 3), 0.75);
  EXPECT_FLOAT_EQ(y(A::kSOFTPLUS, 2, 3, 1), 2 * std::log1p(std::exp(3.F)));
  EXPECT_FLOAT_EQ(y(A::kCLIP, -1, 1, 3), 1);
  EXPECT_FLOAT_EQ(y(A::kCLIP, 2, 1, 3), 2);
  EXPECT_FLOAT_EQ(y(A::kHARD_SIGMOID, 0.25, 0.5, 1), 0.75);
  EXPECT_FLOAT_EQ(y(A::kSCALED_TANH, 2, 3, 0.1F), 2 * std::tanh(0.3F));
  EXPECT_FLOAT_EQ(y(A::kTHRESHOLDED_RELU, 2, no, 1.5), 0);
  EXPECT_NEAR(y(A::kGELU_ERF, no, no, 1), 0.8413447F, 1e-6);
  EXPECT_NEAR(y(A::kGELU_TANH, no, no, 1), 0.8411920F, 1e-6);
}

TEST(NetworkLayer, an_output_type_that_is_set_is_cast_to) {
  Net n;
  IIdentityLayer* cast = n.addIdentity(n.f32({1.5, -2}));
  cast->setOutputType(0, DataType::kINT32);
  EXPECT_EQ(cast->getOutput(0)->getType(), DataType::kINT32);
  EXPECT_EQ(result(n, *cast->getOutput(0)), "i32[2] 1 -2");
}

TEST(NetworkLayer, weights_of_half_a_byte_are_unpacked) {
  Net n;
  const std::uint8_t packed[] = {0x21, 0x0F};
  IConstantLayer* c = n.addConstant(Dims{1, {3}}, {DataType::kINT4, packed, 3});
  EXPECT_EQ(result(n, *n.addCast(*c->getOutput(0), DataType::kINT32)->getOutput(0)),
            "i32[3] 1 2 -1");
}

TEST(NetworkBuilder, notes_what_it_ignores) {
  struct Log : ILogger {
    std::vector<std::string> lines;
    void log(Severity, const char* message) noexcept override { lines.emplace_back(message); }
  } log;
  const std::unique_ptr<IBuilder> builder(createInferBuilder(log));
  const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(
      1U << static_cast<int>(NetworkDefinitionCreationFlag::kEXPLICIT_BATCH)));
  const std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
  EXPECT_TRUE(builder->notes().empty());
  config->setFlag(BuilderFlag::kFP16);
  config->setFlag(BuilderFlag::kFP16);
  config->setMemoryPoolLimit(MemoryPoolType::kWORKSPACE, 1 << 20);
  IOptimizationProfile* profile = builder->createOptimizationProfile();
  profile->setDimensions("x", OptProfileSelector::kMAX, Dims2{3, 4});
  config->addOptimizationProfile(profile);
  EXPECT_TRUE(config->getFlag(BuilderFlag::kFP16));
  EXPECT_EQ(config->getMemoryPoolLimit(MemoryPoolType::kWORKSPACE), 1U << 20);
  EXPECT_EQ(log.lines, builder->notes());
  EXPECT_EQ(builder->notes().size(), 3U);
}

}  // namespace
}  // namespace rondel::network
