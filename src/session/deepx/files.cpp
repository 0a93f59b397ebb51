#include "session/deepx/files.h"

#include "base/error.h"
#include "base/text.h"
#include "frontends/deepx/dtypes.h"
#include "frontends/deepx/lexer.h"

#include <filesystem>

namespace rondel::deepx {
namespace {

/// Returns use(); its errors get the position of the path.
auto at_path(const Effect& e, const auto& use) {
  try {
    return use();
  } catch (const Error& error) {
    if (is_placed(error)) throw;
    throw Error(error.blame(), error.message(), {{to_text(e.text_at)}});
  }
}

/// One function of the session's files.
const auto& function_of(const std::optional<Files>& files, auto Files::*function, const Effect& e) {
  if (!files)
    fail_at_position(e.text_at,
                     "files are refused: the session has no folder that programs may use");
  if (!((*files).*function))
    fail_at_position(e.text_at, "it is refused: the session's Files have no function for it");
  return (*files).*function;
}

/// The name of a new tensor: the name given in the line, or else the stem of the file name.
std::string new_name(const Effect& e, const Names& names) {
  std::string name = e.name;
  if (name.empty()) {
    name = std::filesystem::path(e.text).stem().string();
    if (!is_name(name))
      fail_at_position(e.name_at, "'{}' is no name for a tensor; give one behind '->'", name);
  }
  if (const Entry* taken = names.find(name))
    fail_at_position(e.name_at, "'{}' is {} already; deltensor or argdel deletes it", name,
                     kind_text(*taken));
  return name;
}

}  // namespace

void require_fit_for_programs(const std::string& name, const Tensor& t) {
  require(t.defined(), "'{}' would be an undefined tensor", name);
  require(all_dtypes.contains(t.dtype()), "'{}' would be {}; programs have {}", name,
          rondel::name(t.dtype()), join(all_dtypes.all, ", ", dtype_text));
}

Loaded load(const std::optional<Files>& given, const Effect& e, const Names& names) {
  if (e.kind == Effect::Kind::load) {
    const auto& read = function_of(given, &Files::load, e);
    const std::string name = new_name(e, names);
    return at_path(e, [&] {
      Loaded made{name, read(e.text)};
      require_fit_for_programs(name, made.value);
      require_true(e.said, name, TensorEntry{made.value.dtype(), made.value.shape(), made.value});
      return made;
    });
  }
  const auto& read = function_of(given, &Files::load_data, e);
  const auto& t = std::get<TensorEntry>(*names.find(e.name));
  return at_path(e, [&] {
    Loaded made{e.name, read(e.text, t.dtype, t.shape)};
    require_fit_for_programs(e.name, made.value);
    require(made.value.dtype() == t.dtype && made.value.shape() == t.shape,
            "'{}' holds {}; expected {}", e.text,
            rondel::to_text(made.value.dtype(), made.value.shape()),
            rondel::to_text(t.dtype, t.shape));
    return made;
  });
}

void save(const std::optional<Files>& given, const Effect& e, const Tensor& t) {
  const auto& write = function_of(given, &Files::save, e);
  at_path(e, [&] { write(e.text, t); });
}

}  // namespace rondel::deepx
