// Short notation for networks in tests.
#pragma once
#include <rondel/network/builder.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace rondel::network {

using Op = ElementWiseOperation;

/// A network whose layers are added by short calls. It owns the data of its constants.
struct Net : INetworkDefinition {
  ITensor& in(const char* name, DataType type, const Dims& dims) {
    return *addInput(name, type, dims);
  }
  ITensor& f32(std::vector<float> values) {
    const auto n = static_cast<std::int64_t>(values.size());
    return *addConstant(Dims{1, {n}}, {DataType::kFLOAT, values.data(), n})->getOutput(0);
  }
  ITensor& f32(float value) {
    return *addConstant(Dims{}, {DataType::kFLOAT, &value, 1})->getOutput(0);
  }
  ITensor& i32(std::int32_t value) {
    return *addConstant(Dims{}, {DataType::kINT32, &value, 1})->getOutput(0);
  }
  ITensor& i64(std::int64_t value) {
    return *addConstant(Dims{}, {DataType::kINT64, &value, 1})->getOutput(0);
  }
  ITensor& boolean(bool value) {
    return *addConstant(Dims{}, {DataType::kBOOL, &value, 1})->getOutput(0);
  }
  ITensor& op(ITensor& a, ITensor& b, Op how) { return *addElementWise(a, b, how)->getOutput(0); }
  ITensor& add(ITensor& a, ITensor& b) { return op(a, b, Op::kSUM); }
  ITensor& mul(ITensor& a, ITensor& b) { return op(a, b, Op::kPROD); }
  ITensor& less(ITensor& a, ITensor& b) { return op(a, b, Op::kLESS); }
  void out(ITensor& t, const char* name) {
    t.setName(name);
    markOutput(t);
  }
  /// A loop with this trip count.
  ILoop* counted(ITensor& trips, const char* name = "") {
    ILoop* loop = addLoop();
    loop->setName(name);
    loop->addTripLimit(trips, TripLimit::kCOUNT);
    return loop;
  }
  /// A recurrence of the loop that starts at `first` and grows by `by` in each trip.
  ITensor& counter(ILoop* loop, ITensor& first, ITensor& by) {
    IRecurrenceLayer* r = loop->addRecurrence(first);
    r->setInput(1, add(*r->getOutput(0), by));
    return *r->getOutput(0);
  }
};

using Feeds = std::map<std::string, Value>;

inline std::map<std::string, Value> run(const INetworkDefinition& n, const Feeds& feeds = {}) {
  return buildSession(n).run(feeds);
}

/// "f32[2,3] 1 2 3 4 5 6", for float, int64, int32 and bool.
inline std::string text(const Value& v) {
  const Tensor t = v.tensor().packed();
  std::string s = to_text(v);
  for (std::int64_t i = 0; i < t.size(); ++i) {
    char number[32];
    const double x = t.dtype() == DType::f32   ? double{t.data_as<float>()[i]}
                     : t.dtype() == DType::i64 ? static_cast<double>(t.data_as<std::int64_t>()[i])
                     : t.dtype() == DType::i32 ? double{static_cast<double>(t.data_as<int>()[i])}
                                               : double{t.data_as<bool>()[i] ? 1.0 : 0.0};
    std::snprintf(number, sizeof number, " %g", x);
    s += number;
  }
  return s;
}

/// The message of the caller's error that building the network throws.
inline std::string refusal(const INetworkDefinition& n) {
  try {
    buildSession(n);
  } catch (const Error& e) {
    EXPECT_EQ(e.blame(), Blame::caller) << e.what();
    return e.what();
  }
  return "no error";
}
inline std::string failure(const INetworkDefinition& n, const Feeds& feeds = {}) {
  try {
    run(n, feeds);
  } catch (const Error& e) {
    EXPECT_EQ(e.blame(), Blame::caller) << e.what();
    return e.what();
  }
  return "no error";
}

}  // namespace rondel::network
