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

const Files& files_for(const std::optional<Files>& files, const Effect& e) {
  if (!files)
    fail_at_position(e.text_at,
                     "files are refused: the session has no folder that programs may use");
  return *files;
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

void require_dtype_of_programs(const std::string& name, DType t) {
  require(all_dtypes.contains(t), "'{}' would be {}; programs have {}", name, rondel::name(t),
          join(all_dtypes.all, ", ", dtype_text));
}

Loaded load(const std::optional<Files>& given, const Effect& e, const Names& names) {
  const Files& files = files_for(given, e);
  if (e.kind == Effect::Kind::load) {
    const std::string name = new_name(e, names);
    return at_path(e, [&] {
      Loaded made{name, files.load(e.text)};
      require_dtype_of_programs(name, made.value.dtype());
      require_true(e.said, name, TensorEntry{made.value.dtype(), made.value.shape(), made.value});
      return made;
    });
  }
  const auto& t = std::get<TensorEntry>(*names.find(e.name));
  return at_path(e, [&] {
    Loaded made{e.name, files.load_data(e.text, t.dtype, t.shape)};
    require(made.value.dtype() == t.dtype && made.value.shape() == t.shape,
            "'{}' holds {}; expected {}", e.text,
            rondel::to_text(made.value.dtype(), made.value.shape()),
            rondel::to_text(t.dtype, t.shape));
    return made;
  });
}

void save(const std::optional<Files>& given, const Effect& e, const Tensor& t) {
  const Files& files = files_for(given, e);
  at_path(e, [&] { files.save(e.text, t); });
}

}  // namespace rondel::deepx
