#include "codegen/contract.h"

#include <algorithm>

namespace rondel::codegen {
namespace {

/// Elements of the columns that stand side by side, from a block of k. They stay in a near cache.
constexpr std::int64_t panel_bytes = 32768;

/// A panel in the function's frame, and the product that reads its columns there.
class Panel {
 public:
  Panel(FunctionBuilder& fb, const Product& of) : fb_(fb), of_(of), product_(of) {
    element_ = memory_type(fb.llvm, of.sum);
    product_.transposed = false;
    product_.checks_stop = false;
    product_.lanes = fb.host.vector_bytes / static_cast<unsigned>(byte_size(of.sum));
    product_.tile_vectors = fb.host.vector_registers / 8;
    product_.tile_rows = 6;
    width_ = std::int64_t{product_.lanes} * product_.tile_vectors;
    depth_ = panel_bytes / static_cast<std::int64_t>(byte_size(of.sum)) / width_;
    buffer_ = {.name = "panel", .dtype = of.sum, .access = scalar::Access::local};
    bound_.buffer = &buffer_;
    if (fb.panel == nullptr)
      fb.panel = fb.frame_slot(llvm::ArrayType::get(fb.build.getInt8Ty(), panel_bytes),
                               llvm::Align(64));
  }

  /// All columns, a panel's width at a time, and all of k, a block at a time.
  void multiply() {
    count_up(fb_, fb_.i64(0), of_.columns.count, width_, [&](Value* column) {
      Value* left = fb_.build.CreateNSWSub(of_.columns.count, column);
      // Where there is no k, the sums are stored all the same.
      Value* blocks = at_least_one(of_.depth);
      count_up(fb_, fb_.i64(0), blocks, depth_, [&](Value* k) {
        if (of_.checks_stop) emit_stop_check(fb_);
        Value* depth = fb_.build.CreateNSWSub(end_of_block(fb_, k, of_.depth, depth_), k);
        if (is_direct()) copy_direct(column, left, k, depth);
        else copy(column, left, k, depth);
        multiply_block(column, left, k, depth);
      });
    });
  }

 private:
  Value* at_least_one(Value* n) {
    return fb_.build.CreateSelect(fb_.build.CreateICmpSGT(n, fb_.i64(1)), n, fb_.i64(1));
  }
  Value* least(Value* a, Value* b) {
    return fb_.build.CreateSelect(fb_.build.CreateICmpSLT(a, b), a, b);
  }
  /// Where step `k` of the block stands, from column `column` of the panel on.
  Value* at(Value* k, Value* column) {
    Value* offset = fb_.build.CreateNSWAdd(fb_.build.CreateNSWMul(k, fb_.i64(width_)), column);
    return fb_.build.CreateInBoundsGEP(element_, fb_.panel, offset);
  }
  void store(Value* x, Value* to) {
    fb_.build.CreateAlignedStore(x, to, llvm::Align(byte_size(of_.sum)));
  }

  bool is_direct() const { return !of_.transposed && of_.lanes > 1; }
  /// `depth` steps from `first_k` on of the columns from `first` on, of which `left` are left.
  void copy_direct(Value* first, Value* left, Value* first_k, Value* depth) {
    Value* there = least(left, fb_.i64(width_));
    Value* full = whole(fb_, there, of_.lanes);
    count_up(fb_, fb_.i64(0), depth, 1, [&](Value* k) {
      const auto copy_columns = [&](Value* column, bool masked) {
        Value* from = fb_.build.CreateNSWAdd(first, column);
        Value* mask = masked ? lane_mask(fb_, of_, from) : nullptr;
        store(load_direct(fb_, of_, from, fb_.build.CreateNSWAdd(first_k, k), mask), at(k, column));
      };
      count_up(fb_, fb_.i64(0), full, of_.lanes, [&](Value* c) { copy_columns(c, false); });
      count_up(fb_, full, there, of_.lanes, [&](Value* c) { copy_columns(c, true); });
    });
  }
  /// The same where columns lie apart.
  void copy(Value* first, Value* left, Value* first_k, Value* depth) {
    Value* there = least(left, fb_.i64(width_));
    Value* in_vectors = whole(fb_, there, of_.lanes);
    count_up(fb_, fb_.i64(0), in_vectors, of_.lanes, [&](Value* column) {
      copy_vector(fb_.build.CreateNSWAdd(first, column), column, first_k, depth);
    });
    count_up(fb_, in_vectors, there, 1, [&](Value* column) {
      Product single = of_;
      single.lanes = 1;
      count_up(fb_, fb_.i64(0), depth, 1, [&](Value* k) {
        copy_step(single, fb_.build.CreateNSWAdd(first, column), column, first_k, k);
      });
    });
  }
  void copy_vector(Value* from, Value* column, Value* first_k, Value* depth) {
    Value* together = whole(fb_, depth, of_.lanes);
    count_up(fb_, fb_.i64(0), together, of_.lanes, [&](Value* k) {
      const std::vector<Value*> steps = load_transposed(fb_, of_, from,
                                                        fb_.build.CreateNSWAdd(first_k, k));
      for (unsigned i = 0; i < of_.lanes; ++i)
        store(steps[i], at(fb_.build.CreateNSWAdd(k, fb_.i64(i)), column));
    });
    count_up(fb_, together, depth, 1, [&](Value* k) { copy_step(of_, from, column, first_k, k); });
  }
  void copy_step(const Product& p, Value* from, Value* column, Value* first_k, Value* k) {
    Value* x = load_strided(fb_, p, from, fb_.build.CreateNSWAdd(first_k, k));
    store(x, at(k, column));
  }

  void multiply_block(Value* column, Value* left, Value* k, Value* depth) {
    Product p = product_;
    p.rows.base = element_at(fb_, *p.rows.buffer, p.rows.base, {{k, p.rows.k_stride}});
    p.columns = {&bound_, fb_.panel, fb_.i64(1), fb_.i64(width_), least(left, fb_.i64(width_))};
    p.out_base = element_at(fb_, *p.out, p.out_base, {{column, p.out_column_stride}});
    p.depth = depth;
    p.continues = fb_.build.CreateICmpSGT(k, fb_.i64(0));
    Value* full = whole(fb_, p.columns.count, width_);
    count_up(fb_, fb_.i64(0), full, width_,
             [&](Value* all) { emit_rows(fb_, p, all, p.tile_vectors, nullptr); });
    emit_last_columns(fb_, p, full);
  }

  FunctionBuilder& fb_;
  const Product& of_;
  Product product_;
  llvm::Type* element_;
  std::int64_t width_, depth_;
  scalar::Buffer buffer_;
  BoundBuffer bound_;
};

}  // namespace

void emit_in_panels(FunctionBuilder& fb, const Product& p) { Panel(fb, p).multiply(); }

}  // namespace rondel::codegen
