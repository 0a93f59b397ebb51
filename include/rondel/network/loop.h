// Loops and conditionals: constructs whose boundaries are layers and whose insides follow from the
// data flow. What each means is said in docs/loops.md and docs/network.md.
#pragma once
#include <rondel/network/layer.h>

namespace rondel::network {

class ILoop;
class IIfConditional;
struct ConstructData;

/// A layer where values enter or leave a loop.
class RONDEL_API ILoopBoundaryLayer : public ILayer {
 public:
  using ILayer::ILayer;
  ILoop* getLoop() const;
};

/// A value carried from trip to trip. Input 0, from outside of the loop: its value in the first
/// trip; input 1, set later and usually from inside: its value in the next. Both of one type.
class RONDEL_API IRecurrenceLayer : public ILoopBoundaryLayer {
 public:
  using ILoopBoundaryLayer::ILoopBoundaryLayer;
};

/// How many trips a loop makes. kCOUNT: an int32 or int64 scalar from outside of the loop.
/// kWHILE: a bool scalar, tested before each trip, that depends on recurrences of the loop and on
/// values from outside of it only.
class RONDEL_API ITripLimitLayer : public ILoopBoundaryLayer {
 public:
  using ILoopBoundaryLayer::ILoopBoundaryLayer;
  TripLimit getTripLimit() const;
};

/// Slices of a tensor from outside, one a trip, first to last. In reverse it begins with slice
/// T-1, T being the loop's trip count, or the tensor's extent where the loop has none. An axis may
/// be negative: from the end.
class RONDEL_API IIteratorLayer : public ILoopBoundaryLayer {
 public:
  using ILoopBoundaryLayer::ILoopBoundaryLayer;
  void setAxis(std::int32_t axis);
  std::int32_t getAxis() const;
  void setReverse(bool reverse);
  bool getReverse() const;
};

/// What a loop gives to the outside. kLAST_VALUE: a recurrence after the last trip. kCONCATENATE:
/// the values of all trips along a new axis; kREVERSE: the same, last trip first. Input 1, which
/// may be left out, is the extent of that axis: an int32 or int64 scalar from outside of the loop,
/// no less than the trips made; what is beyond them is zero. Left out: exactly the trips made.
class RONDEL_API ILoopOutputLayer : public ILoopBoundaryLayer {
 public:
  using ILoopBoundaryLayer::ILoopBoundaryLayer;
  LoopOutput getLoopOutput() const;
  /// Of the result; a negative one counts from its end.
  void setAxis(std::int32_t axis);
  std::int32_t getAxis() const;
};

/// A loop. Which layers are inside of it follows from the data flow.
class RONDEL_API ILoop {
 public:
  explicit ILoop(ConstructData& data) : data_(data) {}
  ILoop(const ILoop&) = delete;
  ILoop& operator=(const ILoop&) = delete;

  IRecurrenceLayer* addRecurrence(ITensor& initialValue);
  ITripLimitLayer* addTripLimit(ITensor& tensor, TripLimit limit);
  IIteratorLayer* addIterator(ITensor& tensor, std::int32_t axis = 0, bool reverse = false);
  ILoopOutputLayer* addLoopOutput(ITensor& tensor, LoopOutput outputKind, std::int32_t axis = 0);
  /// Shown in errors.
  void setName(const char* name);
  const char* getName() const;

  ConstructData& data() const { return data_; }

 private:
  ConstructData& data_;
};

/// A layer where values enter or leave a conditional.
class RONDEL_API IIfConditionalBoundaryLayer : public ILayer {
 public:
  using ILayer::ILayer;
  IIfConditional* getConditional() const;
};
class RONDEL_API IConditionLayer : public IIfConditionalBoundaryLayer {
 public:
  using IIfConditionalBoundaryLayer::IIfConditionalBoundaryLayer;
};
class RONDEL_API IIfConditionalInputLayer : public IIfConditionalBoundaryLayer {
 public:
  using IIfConditionalBoundaryLayer::IIfConditionalBoundaryLayer;
};
class RONDEL_API IIfConditionalOutputLayer : public IIfConditionalBoundaryLayer {
 public:
  using IIfConditionalBoundaryLayer::IIfConditionalBoundaryLayer;
};

/// A choice between two ways of computing its outputs. Layers that only one of them needs are
/// evaluated only when it is taken.
class RONDEL_API IIfConditional {
 public:
  explicit IIfConditional(ConstructData& data) : data_(data) {}
  IIfConditional(const IIfConditional&) = delete;
  IIfConditional& operator=(const IIfConditional&) = delete;

  /// A bool scalar from outside of the conditional.
  IConditionLayer* setCondition(ITensor& tensor);
  /// A value as the branches see it. What depends on it is inside of the conditional.
  IIfConditionalInputLayer* addInput(ITensor& tensor);
  /// Both of one element type and rank.
  IIfConditionalOutputLayer* addOutput(ITensor& trueTensor, ITensor& falseTensor);
  /// Shown in errors.
  void setName(const char* name);
  const char* getName() const;

  ConstructData& data() const { return data_; }

 private:
  ConstructData& data_;
};

}  // namespace rondel::network
