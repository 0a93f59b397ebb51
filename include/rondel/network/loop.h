// Loops and conditionals. Their boundaries are layers; which layers are inside follows from the
// data flow. docs/loops.md and docs/network.md define their meaning.
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

/// A value carried from trip to trip. Input 0, from outside the loop: the value in the first trip.
/// Input 1, set later and usually from inside: the value for the next trip. Both have one type.
class RONDEL_API IRecurrenceLayer : public ILoopBoundaryLayer {
 public:
  using ILoopBoundaryLayer::ILoopBoundaryLayer;
};

/// Limits the number of trips of a loop. kCOUNT: an int32 or int64 scalar from outside the loop.
/// kWHILE: a bool scalar, tested before each trip. It may depend only on recurrences of the loop
/// and on values from outside the loop.
class RONDEL_API ITripLimitLayer : public ILoopBoundaryLayer {
 public:
  using ILoopBoundaryLayer::ILoopBoundaryLayer;
  TripLimit getTripLimit() const;
};

/// Slices of a tensor from outside the loop, one per trip, first to last. In reverse it begins with
/// slice T-1, where T is the loop's kCOUNT, or the tensor's extent if the loop has no kCOUNT. A
/// negative axis counts from the end.
class RONDEL_API IIteratorLayer : public ILoopBoundaryLayer {
 public:
  using ILoopBoundaryLayer::ILoopBoundaryLayer;
  void setAxis(std::int32_t axis);
  std::int32_t getAxis() const;
  void setReverse(bool reverse);
  bool getReverse() const;
};

/// A result of a loop. kLAST_VALUE: a recurrence after the last trip. kCONCATENATE: the values of
/// all trips along a new axis; kREVERSE: the same, last trip first. Input 1 (optional) is the
/// extent of the new axis: an int32 or int64 scalar from outside the loop, at least the number of
/// trips made; the tail is filled with zeros. Default: the number of trips made.
class RONDEL_API ILoopOutputLayer : public ILoopBoundaryLayer {
 public:
  using ILoopBoundaryLayer::ILoopBoundaryLayer;
  LoopOutput getLoopOutput() const;
  /// The new axis; a negative axis counts from the end of the result's axes.
  void setAxis(std::int32_t axis);
  std::int32_t getAxis() const;
};

/// A loop. Which layers are inside the loop follows from the data flow.
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

/// A choice between two branches that compute its outputs. Layers that only one branch needs are
/// evaluated only if that branch is taken.
class RONDEL_API IIfConditional {
 public:
  explicit IIfConditional(ConstructData& data) : data_(data) {}
  IIfConditional(const IIfConditional&) = delete;
  IIfConditional& operator=(const IIfConditional&) = delete;

  /// A bool scalar from outside the conditional.
  IConditionLayer* setCondition(ITensor& tensor);
  /// A value for use in the branches. Layers that depend on its output are inside the conditional.
  IIfConditionalInputLayer* addInput(ITensor& tensor);
  /// Both tensors must have the same element type and rank.
  IIfConditionalOutputLayer* addOutput(ITensor& trueTensor, ITensor& falseTensor);
  /// Shown in errors.
  void setName(const char* name);
  const char* getName() const;

  ConstructData& data() const { return data_; }

 private:
  ConstructData& data_;
};

}  // namespace rondel::network
