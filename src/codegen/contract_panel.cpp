#include "codegen/contract.h"

#include <algorithm>

namespace rondel::codegen {
namespace {

/// The size of a panel, which fits into the L1 or L2 cache.
constexpr std::int64_t panel_bytes = 32768;

/// The part of the columns that is in the panel: `depth` steps of k of `columns` columns.
struct Block {
  Value *first_column, *columns;  ///< `columns` is at most the width of the panel
  Value *first_k, *depth;
};

/// A panel in the stack frame, and the product that reads its columns from the panel. The panel is
/// as wide as a tile; each of its rows is a step of k.
class Panel {
 public:
  Panel(FunctionBuilder& fb, const Product& of) : fb_(fb), of_(of), product_(of) {
    const auto bytes = static_cast<unsigned>(byte_size(of.sum));
    element_ = memory_type(fb.llvm, of.sum);
    product_.transposed = false;
    product_.checks_stop = false;
    product_.lanes = fb.host.vector_bytes / bytes;
    product_.tile_vectors = fb.host.vector_registers / 8;
    product_.tile_rows = 6;
    width_ = std::int64_t{product_.lanes} * product_.tile_vectors;
    most_depth_ = panel_bytes / bytes / width_;
    buffer_ = {.name = "panel", .dtype = of.sum, .access = scalar::Access::local, .extents = {}};
    bound_.buffer = &buffer_;
    if (fb.panel == nullptr)
      fb.panel = fb.frame_slot(llvm::ArrayType::get(fb.build.getInt8Ty(), panel_bytes),
                               llvm::Align(64));
  }

  /// Emits the loops over blocks: over all columns by the width of the panel, and over k by its
  /// depth.
  void multiply() {
    count_up(fb_, fb_.i64(0), of_.columns.count, width_, [&](Value* column) {
      Value* left = fb_.build.CreateNSWSub(of_.columns.count, column);
      // If the depth is 0, one block of depth 0 stores empty sums.
      count_up(fb_, fb_.i64(0), greater(of_.depth, fb_.i64(1)), most_depth_, [&](Value* k) {
        if (of_.checks_stop) emit_stop_check(fb_);
        Value* depth = fb_.build.CreateNSWSub(end_of_block(fb_, k, of_.depth, most_depth_), k);
        const Block block{column, lesser(left, fb_.i64(width_)), k, depth};
        if (of_.transposed || of_.lanes == 1) copy_columns_apart(block);
        else copy_columns(block);
        multiply_block(block);
      });
    });
  }

 private:
  Value* lesser(Value* a, Value* b) {
    return fb_.build.CreateSelect(fb_.build.CreateICmpSLT(a, b), a, b);
  }
  Value* greater(Value* a, Value* b) {
    return fb_.build.CreateSelect(fb_.build.CreateICmpSGT(a, b), a, b);
  }
  Value* sum(Value* a, Value* b) { return fb_.build.CreateNSWAdd(a, b); }

  // ---- copying; `column` and `k` are relative to the block

  void store(Value* x, Value* column, Value* k) {
    Value* offset = sum(fb_.build.CreateNSWMul(k, fb_.i64(width_)), column);
    Value* to = fb_.build.CreateInBoundsGEP(element_, fb_.panel, offset);
    fb_.build.CreateAlignedStore(x, to, llvm::Align(byte_size(of_.sum)));
  }

  void copy_columns(const Block& block) {
    Value* in_full = round_down(fb_, block.columns, of_.lanes);
    count_up(fb_, fb_.i64(0), block.depth, 1, [&](Value* k) {
      const auto copy = [&](Value* column, bool masked) {
        Value* from = sum(block.first_column, column);
        Value* mask = masked ? lane_mask(fb_, of_, from) : nullptr;
        store(load_direct(fb_, of_, from, sum(block.first_k, k), mask), column, k);
      };
      count_up(fb_, fb_.i64(0), in_full, of_.lanes, [&](Value* c) { copy(c, false); });
      count_up(fb_, in_full, block.columns, of_.lanes, [&](Value* c) { copy(c, true); });
    });
  }

  void copy_columns_apart(const Block& block) {
    Value* in_vectors = round_down(fb_, block.columns, of_.lanes);
    count_up(fb_, fb_.i64(0), in_vectors, of_.lanes,
             [&](Value* column) { copy_vector(block, column); });
    Product single = of_;
    single.lanes = 1;
    count_up(fb_, in_vectors, block.columns, 1, [&](Value* column) {
      count_up(fb_, fb_.i64(0), block.depth, 1,
               [&](Value* k) { copy_step(single, block, column, k); });
    });
  }
  void copy_vector(const Block& block, Value* column) {
    Value* from = sum(block.first_column, column);
    Value* in_squares = round_down(fb_, block.depth, of_.lanes);
    count_up(fb_, fb_.i64(0), in_squares, of_.lanes, [&](Value* k) {
      const std::vector<Value*> steps = load_transposed(fb_, of_, from, sum(block.first_k, k));
      for (unsigned i = 0; i < of_.lanes; ++i) store(steps[i], column, sum(k, fb_.i64(i)));
    });
    count_up(fb_, in_squares, block.depth, 1, [&](Value* k) { copy_step(of_, block, column, k); });
  }
  void copy_step(const Product& p, const Block& block, Value* column, Value* k) {
    store(load_strided(fb_, p, sum(block.first_column, column), sum(block.first_k, k)), column, k);
  }

  // ---- the product

  void multiply_block(const Block& block) {
    Product p = product_;
    p.rows.base = element_at(fb_, *p.rows.buffer, p.rows.base, {{block.first_k, p.rows.k_stride}});
    p.columns = {&bound_, fb_.panel, fb_.i64(1), fb_.i64(width_), block.columns};
    p.out_base = element_at(fb_, *p.out, p.out_base, {{block.first_column, p.out_column_stride}});
    p.depth = block.depth;
    p.continues = fb_.build.CreateICmpSGT(block.first_k, fb_.i64(0));
    Value* full = round_down(fb_, p.columns.count, width_);
    count_up(fb_, fb_.i64(0), full, width_,
             [&](Value* all) { emit_rows(fb_, p, all, p.tile_vectors, nullptr); });
    emit_last_columns(fb_, p, full);
  }

  FunctionBuilder& fb_;
  const Product& of_;
  Product product_;
  llvm::Type* element_;
  std::int64_t width_, most_depth_;
  scalar::Buffer buffer_;
  BoundBuffer bound_;
};

}  // namespace

void emit_in_panels(FunctionBuilder& fb, const Product& p) { Panel(fb, p).multiply(); }

}  // namespace rondel::codegen
