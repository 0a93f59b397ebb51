#include "frontends/deepx/print.h"

#include "frontends/deepx/dtypes.h"
#include "frontends/deepx/scalars.h"

#include <algorithm>
#include <iterator>
#include <optional>

namespace rondel::deepx {
namespace {

/// A tensor with more than `most_shown` elements shows `edge` elements at each end of a dim.
constexpr std::int64_t most_shown = 1000, edge = 3;

/// Translates a printf format (`%`, flags of "-+0 ", width, precision, and f, e, g or d) to a
/// format of fmt; nothing if it is invalid. Width and precision have at most two digits.
std::optional<std::string> fmt_format(std::string_view f) {
  const auto take = [&](std::string_view of) {
    const std::size_t count = std::min(f.find_first_not_of(of), f.size());
    const std::string_view taken = f.substr(0, count);
    f.remove_prefix(count);
    return taken;
  };
  constexpr std::string_view digits = "0123456789";
  if (!f.starts_with('%')) return std::nullopt;
  f.remove_prefix(1);
  const std::string_view flags = take("-+0 "), width = take(digits);
  const bool has_point = f.starts_with('.');
  if (has_point) f.remove_prefix(1);
  const std::string_view precision = has_point ? take(digits) : "";
  const bool is_known = f == "f" || f == "e" || f == "g" || (f == "d" && !has_point);
  if (!is_known || width.size() > 2 || precision.size() > 2) return std::nullopt;
  const auto has = [&](char flag) { return flags.find(flag) != std::string_view::npos; };
  const bool left = has('-');
  const bool zeros = !left && has('0');
  std::string made = left ? "{:<" : zeros ? "{:" : "{:>";  // fmt alone sets inf and nan to the left
  if (has('+')) made += '+';
  else if (has(' ')) made += ' ';
  if (zeros) made += '0';
  made += width;
  if (has_point)
    fmt::format_to(std::back_inserter(made), ".{}", precision.empty() ? "0" : precision);
  return made + f[0] + "}";
}

/// The fmt format for a tensor's elements. Throws Error(caller) if it does not fit the dtype.
std::string format_for(DType t, std::string_view format, const Position& at) {
  if (format.empty()) return "";
  const std::optional<std::string> found = fmt_format(format);
  if (is_float(t) && (!found || format.ends_with('d')))
    fail_at_position(at, "'{}' is no format of floats; expected one as %.2f, %8.3e or %g", format);
  if (!is_float(t) && (!found || !format.ends_with('d') || t == DType::boolean))
    fail_at_position(
        at, "'{}' is no format of {}; {}", format, dtype_text(t),
        t == DType::boolean ? "bool is shown without one" : "expected one as %d or %5d");
  return *found;
}

class Rows {
 public:
  Rows(const Tensor& t, std::string_view format)
      : t_(t), format_(format), short_(t.size() > most_shown) {}

  /// Appends the subtensor of dims `dim` and later that begins at element `first`.
  void add(std::string& text, std::size_t dim, std::int64_t first) const {
    if (dim == t_.shape().size()) {
      text += element_text(t_, first, format_);
      return;
    }
    const std::int64_t count = t_.shape()[dim], step = size_from(dim + 1);
    const bool last = dim + 1 == t_.shape().size();
    const std::string between = last ? ", " : ",\n" + std::string(dim + 1, ' ');
    text += "[";
    for (std::int64_t k = 0; k < count; ++k) {
      if (k > 0) text += between;
      if (short_ && count > 2 * edge && k == edge) {
        text += "...";
        k = count - edge - 1;
        continue;
      }
      add(text, dim + 1, first + k * step);
    }
    text += "]";
  }

 private:
  std::int64_t size_from(std::size_t dim) const {
    std::int64_t size = 1;
    for (std::size_t d = dim; d < t_.shape().size(); ++d) size *= t_.shape()[d];
    return size;
  }

  const Tensor& t_;
  std::string_view format_;
  bool short_;
};

}  // namespace

std::string shown(std::string_view name, const Tensor& t, std::string_view format,
                  const Position& at) {
  const std::string element_format = format_for(t.dtype(), format, at);
  std::string text = fmt::format("{}: {}\n", name, type_text(t.dtype(), t.shape()));
  const Tensor packed = t.packed();
  if (t.size() == 0) text += "[]";  // large extents beside a 0 would print endless brackets
  else Rows(packed, element_format).add(text, 0, 0);
  return text + "\n";
}

}  // namespace rondel::deepx
