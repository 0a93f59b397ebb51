#include "session/front_ends.h"

#include "base/error.h"
#include "base/file.h"
#include "base/fork.h"
#include "base/text.h"
#include "frontends/mdf/front_end.h"
#include "frontends/onnx/import.h"
#include "session/gradient_nodes.h"
#include "session/options.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

namespace rondel::session {
namespace {

using frontends::FrontEnd;
using frontends::Source;

/// The number of bytes that suffice to recognise the format of a file.
constexpr std::size_t beginning = 4096;

std::string extension_of(const std::filesystem::path& file) {
  std::string text = file.extension().string();
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::string known() {
  return join(front_ends(), "; ", [](const FrontEnd* f) {
    return fmt::format("{} ({}{}{})", f->name, f->doc, f->extensions.empty() ? "" : ", in files ",
                       join(f->extensions, " or ", [](std::string_view e) { return e; }));
  });
}

const FrontEnd& recognised(std::span<const std::byte> bytes, const std::string& what) {
  for (const FrontEnd* f : front_ends())
    if (f->recognises(bytes)) return *f;
  fail("{} no model of a kind that is read here: {}", what, known());
}

frontends::ImportOptions import_options(const SessionOptions& o) {
  return {checked(o).loop_cond, o.external_data_dir};
}

FirstUse& first_read() {
  static auto* one = new FirstUse;
  return *one;
}
/// Made when the library is loaded: a fork must not find it half made.
[[maybe_unused]] const FirstUse& made_early = first_read();

frontends::Imported read(const Source& s, const SessionOptions& o) {
  const frontends::ImportOptions options = import_options(o);
  return first_read().run([&] {
    frontends::Imported imported = front_end_of(s).import(s, options);
    write_gradients(imported.graph);
    return imported;
  });
}

frontends::Survey survey(const Source& s, const SessionOptions& o) {
  const frontends::ImportOptions options = import_options(o);
  frontends::Survey found = front_end_of(s).survey(s, options);
  try {
    if (found.imported) write_gradients(found.imported->graph);
  } catch (const Error& e) {
    found.findings.push_back({Finding::Level::error, found.imported->graph.name, e.what()});
    found.imported.reset();
  }
  return found;
}

}  // namespace

std::span<const FrontEnd* const> front_ends() {
  static const std::array rows{&onnx::front_end(), &mdf::front_end()};
  return rows;
}

const FrontEnd& front_end_of(const Source& s) {
  if (!s.file)
    return recognised(s.bytes.first(std::min(s.bytes.size(), beginning)),
                      fmt::format("the {} bytes are", s.bytes.size()));
  const std::string extension = extension_of(*s.file);
  for (const FrontEnd* f : front_ends())
    if (std::ranges::find(f->extensions, extension) != f->extensions.end()) return *f;
  return recognised(read_beginning(*s.file, beginning), fmt::format("'{}' is", s.file->string()));
}

ModelVersions versions_of(const frontends::Imported& i) {
  const auto own = i.opsets.find("ai.onnx");
  if (own == i.opsets.end()) return {std::nullopt, i.ir_version};
  return {static_cast<int>(own->second), i.ir_version};
}

frontends::Imported read_model(const std::filesystem::path& file, const SessionOptions& o) {
  return read({file, {}}, o);
}
frontends::Imported read_model(std::span<const std::byte> bytes, const SessionOptions& o) {
  return read({std::nullopt, bytes}, o);
}
frontends::Survey survey_model(const std::filesystem::path& file, const SessionOptions& o) {
  return survey({file, {}}, o);
}
frontends::Survey survey_model(std::span<const std::byte> bytes, const SessionOptions& o) {
  return survey({std::nullopt, bytes}, o);
}

}  // namespace rondel::session
