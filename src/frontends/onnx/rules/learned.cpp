// ai.onnx.ml.
#include "frontends/onnx/rules.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rondel::onnx {
namespace {

/// LabelEncoder-1 numbers its classes; of equal classes, the last counts.
std::vector<ValueId> numbered_classes(Call& c) {
  const auto classes = c.take("classes_strings");
  ir::Strings names = classes ? std::get<ir::Strings>(*classes) : ir::Strings();
  require(!names.empty(), "classes_strings is empty");
  ir::Ints numbers(names.size());
  std::iota(numbers.rbegin(), numbers.rend(), 0);
  std::reverse(names.begin(), names.end());
  const bool texts = c.type(c.in(0)).is_tensor() && c.type(c.in(0)).dtype() == DType::string;
  c.attributes.set(texts ? "keys_strings" : "values_strings", names);
  c.attributes.set(texts ? "values_int64s" : "keys_int64s", numbers);
  return c.newest();
}

/// The scores themselves; that they are shown as maps is noted beside the graph (MapKeys).
std::vector<ValueId> zip_map(Call& c) {
  const ir::Ints numbers = c.attributes.ints("classlabels_int64s");
  const ir::Strings texts = c.attributes.strings("classlabels_strings");
  require(numbers.empty() != texts.empty(),
          "{} of classlabels_int64s and classlabels_strings are given; expected one of them",
          texts.empty() ? "none" : "both");
  const ir::Type& x = c.type(c.in(0));
  const Tensor keys = texts.empty()
                          ? Tensor::from<std::int64_t>({std::ssize(numbers)}, std::span(numbers))
                          : Tensor::from<std::string>({std::ssize(texts)}, std::span(texts));
  require(!x.has_rank() || x.rank() == 2 || x.rank() == 1,
          "its input is {}; expected rows of scores", ir::to_text(x));
  require(!x.has_rank() || !x.extents().back().known() || x.extents().back().value == keys.size(),
          "its input is {}; it has {} labels", ir::to_text(x), keys.size());
  ValueId rows = c.one("Identity", {c.in(0)});
  if (!x.has_rank() || x.rank() == 1) {  // one row is a matrix of one row
    const ValueId width = c.one("Shape", {rows}, {{"start", -1}});
    rows = c.one("Reshape", {rows, c.one("Concat", {c.integers({-1}), width}, {{"axis", 0}})});
  }
  c.importer.set_map_keys(rows, keys);
  return {rows};
}

/// Before LabelEncoder-4, no NaN equals a key. Version 4 finds the key NaN, so it is left out.
std::vector<ValueId> without_nan_keys(Call& c) {
  const auto keys = c.take("keys_floats");
  if (!keys) return c.newest();
  ir::Floats kept = std::get<ir::Floats>(*keys);
  for (const char* name : {"values_strings", "values_int64s", "values_floats"}) {
    auto values = c.take(name);
    if (!values) continue;
    std::visit(
        [&](auto& list) {
          using List = std::decay_t<decltype(list)>;
          if constexpr (std::is_same_v<List, ir::Floats> || std::is_same_v<List, ir::Ints> ||
                        std::is_same_v<List, ir::Strings>)
            for (std::size_t k = std::min(list.size(), kept.size()); k-- > 0;)
              if (std::isnan(kept[k])) list.erase(list.begin() + static_cast<std::ptrdiff_t>(k));
        },
        *values);
    c.attributes.set(name, std::move(*values));
  }
  std::erase_if(kept, [](double key) { return std::isnan(key); });
  c.attributes.set("keys_floats", std::move(kept));
  return c.newest();
}

/// The number of targets is optional and has no default; one is the only number that a model need
/// not tell.
std::vector<ValueId> one_target(Call& c) {
  if (!c.attributes.has("n_targets")) c.attributes.set("n_targets", std::int64_t{1});
  return c.newest();
}

}  // namespace

std::span<const Rule> learned_rules() {
  static constexpr Rule rules[] = {
      {"LabelEncoder", 1, 1, numbered_classes, "", "ai.onnx.ml"},
      {"LabelEncoder", 2, 3, without_nan_keys, "", "ai.onnx.ml"},
      {"ZipMap", 1, newest, zip_map, "-", "ai.onnx.ml"},
      {"TreeEnsemble", 5, newest, one_target, "", "ai.onnx.ml"},
  };
  return rules;
}

}  // namespace rondel::onnx
