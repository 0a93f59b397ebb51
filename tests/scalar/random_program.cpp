#include "scalar/math.h"
#include "scalar/random_expressions.h"

namespace rondel::scalar {
namespace {

/// Generates one program. `index` keeps loads within extents. Trips of parallel loops store only at
/// their own index, and load only from arrays that no trip stores to.
class Generator : RandomExpressions {
 public:
  explicit Generator(std::uint64_t seed) : RandomExpressions(seed) { out_.seed = seed; }

  RandomProgram run() {
    for (int n = one_of(2, 4); n > 0; --n) parameter(Access::in);
    for (int n = one_of(1, 3); n > 0; --n) parameter(Access::out);
    if (chance(3)) parameter(Access::inout);
    if (chance(4)) product_parameters();
    if (chance(3)) shared_parameters();
    if (chance(3)) row_parameters();
    if (chance(3)) phase_parameters();
    for (int n = one_of(0, 2); n > 0; --n) pool_.push_back(parameter_value());
    for (int n = one_of(0, 2); n > 0; --n) local();
    for (int n = one_of(2, 6); n > 0; --n) statement(0);
    if (product_ >= 0) b_.contract(product(), {});
    if (out_.shared >= 0) update_in_place();
    if (rows_ >= 0) read_rows();
    if (phases_ >= 0) work_in_phases();
    out_.program = b_.finish();
    return std::move(out_);
  }

 private:
  // ------------------------------------------------------------------ buffers
  void bind(Access access, DType t, Shape shape, int layout, std::int32_t may_alias = -1) {
    Shape extents = shape;
    for (auto& e : extents)
      if (chance(2)) e = -1;
    const std::string name = "p" + std::to_string(out_.tensors.size());
    scalar::Buffer buffer{name, t, access, extents, layout == 0, may_alias};
    buffer.dense_rows = layout == dense_rows && !extents.empty();
    const auto id = b_.buffer(std::move(buffer));
    arrays_.push_back({id, t, shape, access});
    out_.tensors.push_back(random_tensor(rng_(), t, std::move(shape), layout));
  }

  void parameter(Access access) {
    Shape shape;
    for (int rank = one_of(0, 3); rank > 0; --rank) shape.push_back(one_of(1, 9));
    const int layout = chance(2) ? 0 : one_of(0, access == Access::in ? 5 : 3);
    bind(access, any_type(), std::move(shape), layout);
  }

  Ex parameter_value() {
    out_.params.push_back(one_of(-2, 9));
    return b_.param();
  }

  void product_parameters() {
    static const DType types[] = {DType::f32, DType::f64, DType::f16, DType::bf16,
                                  DType::i32, DType::u8,  DType::i64};
    const DType t = types[rng_() % std::size(types)];
    const std::int64_t m = one_of(1, 7), n = one_of(1, 70), k = one_of(0, 9);
    const bool flip = chance(2);
    product_ = static_cast<int>(arrays_.size());
    transposed_ = flip;
    bind(Access::in, t, flip ? Shape{k, m} : Shape{m, k}, one_of(0, 3));
    bind(Access::in, t, {k, n}, one_of(0, 3));
    bind(Access::out, t, {m, n}, one_of(0, 2));
    reserved_ = {product_, product_ + 1, product_ + 2};
  }

  /// An output that shares the block of the input before it.
  void shared_parameters() {
    Shape shape;
    for (int rank = one_of(1, 2); rank > 0; --rank) shape.push_back(one_of(1, 40));
    const DType t = computed_type();
    const auto input = static_cast<std::int32_t>(arrays_.size());
    bind(Access::in, t, shape, 0);
    bind(Access::out, t, shape, 0, input);
    reserved_.insert(reserved_.end(), {input, input + 1});
    out_.shared = input + 1;
  }

  /// The input is read at the same index that is written.
  void update_in_place() {
    const auto to = static_cast<std::size_t>(out_.shared), from = to - 1;
    std::vector<Ex> extents;
    for (std::int64_t axis = 0; axis < b_.buffer(out_.shared).rank(); ++axis)
      extents.push_back(b_.extent(out_.shared, axis));
    regions_.push_back({&arrays_[to], {}});
    b_.for_all(extents, [&](const Indices& at) {
      scope([&] {
        loads_ = 4;
        pool_.push_back(b_.load(arrays_[from].id, at));
        pool_.insert(pool_.end(), at.begin(), at.end());
        b_.store(arrays_[to].id, at, expression(arrays_[to].dtype, 0));
      });
    });
    regions_.pop_back();
  }

  /// An input of which trips read elements of their own rows, and two outputs: of an element a row,
  /// and of rows that trips read and write.
  void row_parameters() {
    const std::int64_t rows = one_of(1, 70);
    Shape shape{rows, one_of(1, 40)};
    if (chance(3)) shape.insert(shape.begin() + one_of(0, 1), one_of(1, 3));
    row_axis_ = static_cast<std::size_t>(std::ranges::find(shape, rows) - shape.begin());
    rows_ = static_cast<int>(arrays_.size());
    static const DType types[] = {DType::f32, DType::f64, DType::i32, DType::i64,
                                  DType::u32, DType::u64, DType::i16, DType::u8};
    const auto type = [&] { return types[rng_() % std::size(types)]; };
    bind(Access::in, type(), shape, chance(2) ? 0 : one_of(0, 5));
    bind(Access::out, type(), {rows}, 0);
    bind(Access::inout, type(), shape, chance(2) ? 0 : one_of(0, 3));
    reserved_.insert(reserved_.end(), {rows_, rows_ + 1, rows_ + 2});
  }

  /// Trip i reads some elements of row i, some of them after it has written.
  void read_rows() {
    const auto first = static_cast<std::size_t>(rows_);
    const Shape shape = arrays_[first].shape;
    b_.for_each(b_.index(0), b_.extent(arrays_[first + 1].id, 0), [&](Ex i) {
      scope([&] {
        Indices leading;
        for (const std::int64_t extent : shape) leading.push_back(b_.index(one_of(0, extent - 1)));
        leading[row_axis_] = i;
        const auto place = [&] {
          Indices at = leading;
          if (at.size() > row_axis_ + 1) at.back() = b_.index(one_of(0, shape.back() - 1));
          return at;
        };
        const auto sum = [&](DType t, std::int64_t most) {
          loads_ = 2;
          Ex value = expression(t, 2);
          for (std::int64_t n = one_of(1, most); n > 0; --n) {
            const std::size_t from = first + (chance(3) ? 2 : 0);
            value = value * 3 + b_.cast(t, b_.load(arrays_[from].id, place()));
          }
          return value;
        };
        b_.store(arrays_[first + 1].id, {i}, sum(arrays_[first + 1].dtype, 20));
        std::vector<Ex> rest;
        for (std::int64_t n = one_of(1, 9); n > 0; --n) {
          const Ex value = sum(arrays_[first + 2].dtype, 5);
          if (chance(4)) b_.store(arrays_[first + 2].id, place(), value);
          else rest.push_back(value);
        }
        for (const Ex value : rest) b_.store(arrays_[first + 2].id, place(), value);
      });
    });
  }

  /// An input, and an output of whose rows a trip makes one after the other.
  void phase_parameters() {
    static const DType types[] = {DType::f32, DType::f64, DType::i32, DType::i64, DType::i16};
    const DType t = types[rng_() % std::size(types)];
    const Shape shape{one_of(1, 17), chance(4) ? one_of(1, 40) : one_of(1, 5)};
    phases_ = static_cast<int>(arrays_.size());
    bind(Access::in, t, shape, chance(2) ? 0 : one_of(0, 5));
    bind(Access::inout, t, shape, chance(3) ? one_of(0, 3) : 0);
    reserved_.insert(reserved_.end(), {phases_, phases_ + 1});
  }

  /// The loops of a trip read and write the elements of its row, which the loops before have
  /// written; some fold them. Rows are short, so that passes may unroll what a trip does.
  void work_in_phases() {
    const Array &x = arrays_[static_cast<std::size_t>(phases_)],
                &y = arrays_[static_cast<std::size_t>(phases_) + 1];
    b_.for_each(b_.index(0), b_.extent(y.id, 0), [&](Ex i) {
      const Ex none = b_.index(0), width = b_.extent(y.id, 1);
      const auto element = [&](const Array& a, Ex j) { return b_.load(a.id, {i, j}); };
      Ex fold = b_.constant(y.dtype, std::int64_t{1});
      b_.for_each(none, width, [&](Ex j) { b_.store(y.id, {i, j}, changed(element(x, j))); });
      for (std::int64_t n = one_of(1, 5); n > 0; --n) {
        if (chance(2)) {
          const bool sum = chance(2);
          const auto combine = [&](std::span<const Ex> a, std::span<const Ex> b) {
            return std::vector<Ex>{sum ? a[0] + b[0] : max(a[0], b[0])};
          };
          const auto next = [&](Ex j) { return std::vector<Ex>{element(y, j)}; };
          fold = chance(2) ? b_.reduce(width, {fold}, next, combine)[0]
                           : b_.for_(none, width, {fold}, [&](Ex j, std::span<const Ex> all) {
                               return combine(all, next(j));
                             })[0];
        } else {
          const bool both = chance(3);
          b_.for_each(none, width, [&](Ex j) {
            const Ex old = element(y, j);
            b_.store(y.id, {i, j}, both ? old - element(x, j) + fold : changed(old) - fold);
          });
        }
      }
    });
  }
  /// The value itself, or what takes long to compute.
  Ex changed(Ex x) { return is_float(x.type()) && chance(2) ? exp(x) : x; }

  Contract product() {
    Contract c;
    c.a = product_;
    c.b = product_ + 1;
    c.c = product_ + 2;
    c.a_transposed = transposed_;
    c.fused = !chance(3);
    return c;
  }

  void local() {
    Shape shape;
    for (int rank = one_of(1, 2); rank > 0; --rank) shape.push_back(one_of(1, 8));
    DType t = any_type();
    if (t == DType::c128) t = DType::f64;
    const auto id = b_.local("l" + std::to_string(arrays_.size()), t, shape);
    std::vector<Ex> extents;
    for (const std::int64_t n : shape) extents.push_back(b_.index(n));
    const Ex value = expression(t, 1);
    b_.for_all(extents, [&](const Indices& at) { b_.store(id, at, value); });
    arrays_.push_back({id, t, shape, Access::local});
  }

  // ------------------------------------------------------------------ statements
  /// Values that `body` adds to the pool are removed when it ends.
  template <class F> void scope(F body) {
    const std::size_t size = pool_.size();
    body();
    pool_.resize(size);
  }

  void statement(int depth) {
    loads_ = 6;
    if (depth >= 3) return store();
    switch (one_of(0, 9)) {
      case 0:
      case 1: return depth < 2 ? counted_loop(depth) : store();
      case 2: return carried_loop(depth);
      case 3: return while_loop(depth);
      case 4: return branch(depth);
      case 5: return parallel_loop(depth);
      case 6: return check();
      case 7: return reduction();
      default: return store();
    }
  }

  void store() {
    if (!regions_.empty()) {
      const Region& r = regions_.back();
      Indices at = r.fixed;
      for (std::size_t axis = at.size(); axis < r.target->shape.size(); ++axis)
        at.push_back(index(r.target->shape[axis]));
      return b_.store(r.target->id, at, expression(r.target->dtype, 0));
    }
    std::vector<const Array*> found;
    for (const Array& a : arrays_)
      if (a.access != Access::in && usable(a)) found.push_back(&a);
    if (found.empty()) return;
    const Array& a = *found[rng_() % found.size()];
    const Indices at = indices(a);
    b_.store(a.id, at, value_for(a));
  }

  /// If no other c128 array is readable, the value is loaded from `a` itself.
  Ex value_for(const Array& a) {
    if (a.dtype == DType::c128 && !readable(DType::c128)) {
      Indices zeros(a.shape.size(), b_.index(0));
      return b_.load(a.id, zeros);
    }
    return expression(a.dtype, 0);
  }

  Ex bound() {
    if (chance(3)) {
      const Array& a = arrays_[rng_() % arrays_.size()];
      if (!a.shape.empty()) return b_.extent(a.id, 0);
    }
    if (chance(4)) return expression(DType::i64, 2) % 6;
    return b_.index(one_of(0, 6));
  }

  void statements(int depth) {
    for (int n = one_of(1, 3); n > 0; --n) statement(depth);
  }

  void counted_loop(int depth) {
    const Ex lo = b_.index(one_of(-1, 1)), hi = bound();
    b_.for_each(
        lo, hi,
        [&](Ex i) {
          scope([&] {
            pool_.push_back(i);
            statements(depth + 1);
          });
        },
        0);
  }

  std::vector<Ex> initial() {
    std::vector<Ex> inits;
    for (int n = one_of(1, 3); n > 0; --n) inits.push_back(expression(computed_type(), 2));
    return inits;
  }

  std::vector<Ex> nexts(std::span<const Ex> carried) {
    std::vector<Ex> out;
    for (const Ex& x : carried) {
      std::vector<Ex> alike;
      for (const Ex& y : carried)
        if (y.type() == x.type()) alike.push_back(y);
      out.push_back(chance(3) ? alike[rng_() % alike.size()] : expression(x.type(), 1));
    }
    return out;
  }

  void carried_loop(int depth) {
    const Ex lo = b_.index(one_of(0, 1)), hi = bound();
    const auto finals = b_.for_(lo, hi, initial(), [&](Ex i, std::span<const Ex> carried) {
      std::vector<Ex> next;
      scope([&] {
        pool_.push_back(i);
        pool_.insert(pool_.end(), carried.begin(), carried.end());
        if (depth < 2 && chance(2)) statement(depth + 1);
        loads_ = 4;
        next = nexts(carried);
      });
      return next;
    });
    pool_.insert(pool_.end(), finals.begin(), finals.end());
  }

  void while_loop(int depth) {
    const Ex lo = b_.index(0), hi = b_.index(one_of(0, 12));
    const auto finals = b_.for_while(lo, hi, initial(), [&](Ex i, std::span<const Ex> carried) {
      std::vector<Ex> next;
      scope([&] {
        pool_.push_back(i);
        pool_.insert(pool_.end(), carried.begin(), carried.end());
        if (depth < 2 && chance(3)) statement(depth + 1);
        loads_ = 4;
        next = nexts(carried);
        next.insert(next.begin(), condition(1) | (i < one_of(0, 4)));
      });
      return next;
    });
    pool_.insert(pool_.end(), finals.begin(), finals.end());
  }

  void branch(int depth) {
    const Ex when = condition(0);
    if (chance(3)) return b_.if_(when, [&] { scope([&] { statements(depth + 1); }); });
    const DType t = computed_type(), u = computed_type();
    const Builder::Branch arm = [&] {
      std::vector<Ex> yields;
      scope([&] {
        if (chance(2)) statement(depth + 1);
        loads_ = 4;
        yields = {expression(t, 1), expression(u, 1)};
      });
      return yields;
    };
    const auto merged = b_.if_(when, arm, arm);
    pool_.insert(pool_.end(), merged.begin(), merged.end());
  }

  void parallel_loop(int depth) {
    Region region{};
    if (!regions_.empty()) {
      region = regions_.back();
      if (region.fixed.size() >= region.target->shape.size()) return store();
    } else {
      std::vector<const Array*> found;
      for (const Array& a : arrays_)
        if (a.access != Access::in && !a.shape.empty() && usable(a) && a.dtype != DType::c128)
          found.push_back(&a);
      if (found.empty()) return;
      region.target = found[rng_() % found.size()];
    }
    const auto axis = static_cast<std::int64_t>(region.fixed.size());
    b_.for_each(b_.index(0), b_.extent(region.target->id, axis), [&](Ex i) {
      scope([&] {
        Region inner = region;
        inner.fixed.push_back(i);
        regions_.push_back(inner);
        pool_.push_back(i);
        for (int n = one_of(1, 2); n > 0; --n) {
          loads_ = 6;
          chance(3) ? parallel_loop(depth + 1) : store();
        }
        regions_.pop_back();
      });
    });
  }

  void check() {
    if (!regions_.empty()) return store();
    const Ex holds = condition(1) | (expression(DType::i32, 2) < one_of(0, 40));
    b_.check(holds, "check of {} and {}", {expression(DType::i64, 2), expression(DType::i64, 2)});
  }

  void reduction() {
    if (!regions_.empty()) return store();
    std::vector<const Array*> found;
    for (const Array& a : arrays_)
      if (a.access == Access::in && a.shape.size() == 1 && usable(a) && !is_complex(a.dtype))
        found.push_back(&a);
    if (found.empty()) return store();
    const Array& a = *found[rng_() % found.size()];
    const DType t = chance(2) ? DType::f32 : DType::i32;
    const bool sum = chance(2);
    const Ex first = b_.constant(t, std::int64_t{0});
    const Ex n = b_.extent(a.id, 0) * one_of(1, 40);
    const auto element = [&](Ex i) {
      return std::vector<Ex>{b_.cast(t, b_.load(a.id, {i % a.shape[0]})) * 3};
    };
    const auto combine = [&](std::span<const Ex> x, std::span<const Ex> y) {
      return std::vector<Ex>{sum ? x[0] + y[0] : max(x[0], y[0])};
    };
    pool_.push_back(b_.reduce(n, {first}, element, combine)[0]);
  }

  RandomProgram out_;
  int product_ = -1;
  int rows_ = -1;  ///< the input of `read_rows`, before its outputs
  std::size_t row_axis_ = 0;
  int phases_ = -1;  ///< the input of `work_in_phases`, before its output
  bool transposed_ = false;
};

}  // namespace

RandomProgram random_program(std::uint64_t seed) { return Generator(seed).run(); }

}  // namespace rondel::scalar
