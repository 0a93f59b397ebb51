#include "codegen/contract.h"
#include "scalar/contract.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>

/// Products whose elements are dot products. The parts of a sum are the lanes of one or several
/// vectors.
namespace rondel::codegen {
namespace {

class DotProducts {
 public:
  DotProducts(FunctionBuilder& fb, const Product& p)
      : fb_(fb), p_(p), lanes_(fb.host.vector_bytes / static_cast<unsigned>(byte_size(p.sum))),
        vectors_(scalar::bytes_of_parts / fb.host.vector_bytes),
        together_(std::clamp(fb.host.vector_registers / 2 / vectors_, 1U, lanes_)),
        vector_(llvm::FixedVectorType::get(memory_type(fb.llvm, p.sum), lanes_)) {}

  /// Emits the dot products with all columns: as many at once as a vector has lanes, then the
  /// remaining ones one by one; all one by one if their elements lie apart.
  void multiply() {
    Value* done = is_one(p_.columns.k_stride) ? multiply_vectors() : fb_.i64(0);
    count_up(fb_, done, p_.columns.count, 1, [&](Value* column) {
      store_element(fb_, *p_.out, result(column), sum_of_lanes(sums_of(column, 1)[0]));
    });
  }

 private:
  /// Returns the first column of the remainder.
  Value* multiply_vectors() {
    Value* full = round_down(fb_, p_.columns.count, lanes_);
    count_up(fb_, fb_.i64(0), full, lanes_, [&](Value* column) {
      Sums sums;
      for (unsigned i = 0; i < lanes_; i += together_)
        for (Value* sum : sums_of(plus(column, i), together_)) sums.push_back(sum);
      store(column, sums_of_lanes(std::move(sums)));
    });
    return full;
  }

  Value* plus(Value* i, std::int64_t n) { return fb_.build.CreateNSWAdd(i, fb_.i64(n)); }
  std::int64_t parts() const { return std::int64_t{vectors_} * lanes_; }

  /// For each of `count` columns from `first` on, one vector of partial sums: all others have been
  /// added to it.
  Sums sums_of(Value* first, unsigned count) {
    const Sums zeros(std::size_t{count} * vectors_, llvm::Constant::getNullValue(vector_));
    Value* full = round_down(fb_, p_.depth, parts());
    Sums sums = sum_in_blocks(fb_, p_, full, parts(), zeros, [&](Value* k, const Sums& before) {
      return add_steps(first, k, nullptr, before);
    });
    sums = sum_up(fb_, full, p_.depth, parts(), sums, [&](Value* k, const Sums& before) {
      return add_steps(first, k, fb_.build.CreateNSWSub(p_.depth, k), before);
    });
    for (unsigned half = vectors_ / 2; half > 0; half /= 2)
      for (unsigned i = 0; i < count; ++i)
        for (unsigned v = 0; v < half; ++v) {
          Value*& sum = sums[i * vectors_ + v];
          sum = fb_.build.CreateFAdd(sum, sums[i * vectors_ + v + half]);
        }
    Sums one_each;
    for (unsigned i = 0; i < count; ++i) one_each.push_back(sums[i * vectors_]);
    return one_each;
  }

  /// Adds one step to each part, for the columns from `first` on. `left`: the steps that are left,
  /// if these are fewer; parts without a step keep their sums.
  Sums add_steps(Value* first, Value* k, Value* left, Sums sums) {
    const std::size_t columns = sums.size() / vectors_;
    for (unsigned v = 0; v < vectors_; ++v) {
      const std::int64_t from = std::int64_t{v} * lanes_;
      Value* mask = left ? fb_.build.CreateICmpSLT(
                               lane_numbers(), splat(fb_.build.CreateNSWSub(left, fb_.i64(from))))
                         : nullptr;
      Value* x = load(p_.rows, fb_.i64(0), plus(k, from), mask);
      for (std::size_t i = 0; i < columns; ++i) {
        Value* y = load(p_.columns, plus(first, static_cast<std::int64_t>(i)), plus(k, from), mask);
        Value*& sum = sums[i * vectors_ + v];
        Value* next = fb_.build.CreateIntrinsic(llvm::Intrinsic::fma, {vector_}, {x, y, sum});
        sum = mask ? fb_.build.CreateSelect(mask, next, sum) : next;
      }
    }
    return sums;
  }

  Value* lane_numbers() {
    std::vector<llvm::Constant*> numbers;
    for (unsigned lane = 0; lane < lanes_; ++lane) numbers.push_back(fb_.build.getInt64(lane));
    return llvm::ConstantVector::get(numbers);
  }
  Value* splat(Value* x) { return fb_.build.CreateVectorSplat(lanes_, x); }

  /// Loads as many steps from `k` on as there are lanes. `mask`: those to load, null: all.
  Value* load(const Factor& f, Value* index, Value* k, Value* mask) {
    if (!is_one(f.k_stride)) return load_apart(f, index, k);
    const llvm::Align align(byte_size(p_.sum));
    Value* at = element_at(fb_, *f.buffer, f.base, {{index, f.stride}, {k, f.k_stride}});
    llvm::Instruction* loaded = mask ? static_cast<llvm::Instruction*>(fb_.build.CreateMaskedLoad(
                                           vector_, at, align, mask,
                                           llvm::Constant::getNullValue(vector_)))
                                     : fb_.build.CreateAlignedLoad(vector_, at, align);
    annotate(fb_, loaded, *f.buffer);
    return loaded;
  }

  /// The same for elements that are not contiguous. Lanes behind the last step load the last step.
  Value* load_apart(const Factor& f, Value* index, Value* k) {
    Value* last = plus(p_.depth, -1);
    Value* vector = llvm::PoisonValue::get(vector_);
    for (unsigned lane = 0; lane < lanes_; ++lane) {
      Value* at = plus(k, lane);
      at = fb_.build.CreateSelect(fb_.build.CreateICmpSLT(at, last), at, last);
      at = element_at(fb_, *f.buffer, f.base, {{index, f.stride}, {at, f.k_stride}});
      vector = fb_.build.CreateInsertElement(vector, load_element(fb_, *f.buffer, at), lane);
    }
    return vector;
  }

  /// Adds the lanes of each of as many vectors as there are lanes: lane i of the result is the sum
  /// of vector i. In each step, the halves of a sum are added, of two vectors at once.
  Value* sums_of_lanes(Sums vectors) {
    for (unsigned half = lanes_ / 2; half > 0; half /= 2)
      for (unsigned i = 0; i < half; ++i)
        vectors[i] = sum_of_halves(vectors[i], vectors[i + half], half);
    return vectors[0];
  }
  /// In blocks of 2 * `half` lanes: the sum of the halves of a block of x, then of y.
  Value* sum_of_halves(Value* x, Value* y, unsigned half) {
    llvm::SmallVector<int> low, high;
    for (unsigned lane = 0; lane < lanes_; ++lane) {
      const unsigned of_x = lane & half ? lane - half + lanes_ : lane;
      low.push_back(static_cast<int>(of_x));
      high.push_back(static_cast<int>(of_x + half));
    }
    return fb_.build.CreateFAdd(fb_.build.CreateShuffleVector(x, y, low),
                                fb_.build.CreateShuffleVector(x, y, high));
  }
  /// The same for one vector.
  Value* sum_of_lanes(Value* vector) {
    for (unsigned half = lanes_ / 2; half > 0; half /= 2) {
      llvm::SmallVector<int> low, high;
      for (unsigned lane = 0; lane < half; ++lane) {
        low.push_back(static_cast<int>(lane));
        high.push_back(static_cast<int>(lane + half));
      }
      vector = fb_.build.CreateFAdd(fb_.build.CreateShuffleVector(vector, low),
                                    fb_.build.CreateShuffleVector(vector, high));
    }
    return fb_.build.CreateExtractElement(vector, std::uint64_t{0});
  }

  Value* result(Value* column) {
    return element_at(fb_, *p_.out, p_.out_base, {{column, p_.out_column_stride}});
  }
  /// Stores one result per lane.
  void store(Value* column, Value* results) {
    if (is_one(p_.out_column_stride)) {
      annotate(
          fb_,
          fb_.build.CreateAlignedStore(results, result(column), llvm::Align(byte_size(p_.sum))),
          *p_.out);
      return;
    }
    for (unsigned lane = 0; lane < lanes_; ++lane)
      store_element(fb_, *p_.out, result(plus(column, lane)),
                    fb_.build.CreateExtractElement(results, lane));
  }

  FunctionBuilder& fb_;
  const Product& p_;
  unsigned lanes_;     ///< sums in a vector
  unsigned vectors_;   ///< vectors for the parts of one sum
  unsigned together_;  ///< columns that are summed at once
  llvm::Type* vector_;
};

}  // namespace

void emit_dot_products(FunctionBuilder& fb, const Product& p) { DotProducts(fb, p).multiply(); }

}  // namespace rondel::codegen
