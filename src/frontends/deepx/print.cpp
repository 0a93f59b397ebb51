#include "frontends/deepx/print.h"

#include "frontends/deepx/dtypes.h"
#include "frontends/deepx/scalars.h"

#include <algorithm>
#include <cctype>

namespace rondel::deepx {
namespace {

/// Beyond so many elements, only so many at each end of a dim are shown.
constexpr std::int64_t most_shown = 1000, edge = 3;

/// `%`, then width and precision of two digits at most, then one of f, e, g.
bool is_format(std::string_view f) {
  if (!f.starts_with('%')) return false;
  f.remove_prefix(1);
  const auto take_digits = [&] {
    std::size_t count = 0;
    while (!f.empty() && std::isdigit(static_cast<unsigned char>(f[0])) != 0) {
      f.remove_prefix(1);
      ++count;
    }
    return count;
  };
  if (take_digits() > 2) return false;
  if (f.starts_with('.')) {
    f.remove_prefix(1);
    if (const std::size_t digits = take_digits(); digits == 0 || digits > 2) return false;
  }
  return f == "f" || f == "e" || f == "g";
}

class Rows {
 public:
  Rows(const Tensor& t, std::string_view format)
      : t_(t), format_(format), short_(t.size() > most_shown) {}

  /// The elements from `first` on, of the dims from `dim` on.
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
  if (!format.empty() && !is_format(format))
    fail_at_position(at, "'{}' is no format of floats; expected one as %.2f, %8.3e or %g", format);
  std::string text = fmt::format("{}: {}\n", name, type_text(t.dtype(), t.shape()));
  const Tensor packed = t.packed();
  Rows(packed, format).add(text, 0, 0);
  return text + "\n";
}

}  // namespace rondel::deepx
