#include <rondel/deepx.h>

#include "base/error.h"
#include "base/text.h"
#include "frontends/deepx/blocks.h"
#include "frontends/deepx/dtypes.h"
#include "frontends/deepx/instruction.h"
#include "frontends/deepx/lexer.h"
#include "frontends/deepx/parser.h"
#include "session/deepx/engine.h"

#include <mutex>

namespace rondel::deepx {
namespace {

NameInfo info_of(const std::string& name, const Entry& e) {
  if (const auto* a = std::get_if<Argument>(&e))
    return {NameInfo::Kind::argument, name, a->value.dtype(), {}};
  if (const auto* v = std::get_if<Vector>(&e))
    return {NameInfo::Kind::vector, name, v->values.dtype(), v->values.shape()};
  const auto& t = std::get<TensorEntry>(e);
  return {NameInfo::Kind::tensor, name, t.dtype, t.shape};
}

InstructionInfo info_of(const Instruction& i) {
  InstructionInfo info{std::string(i.name), {}, usage(i), i.two_way ? usage(i, true) : "", "",
                       std::string(i.doc)};
  for (const std::string_view s : i.spellings) info.spellings.emplace_back(s);
  if (i.value || i.needs_dtype) info.dtypes = i.dtypes.name;
  return info;
}

}  // namespace

struct Session::Impl {
  explicit Impl(const SessionOptions& o) : engine(o) {}

  std::unique_lock<std::mutex> lock() const {
    std::unique_lock held(mutex, std::try_to_lock);
    require(held.owns_lock(), "this session is under way in another thread, or in what it calls");
    return held;
  }

  Engine engine;
  mutable std::mutex mutex;
};

Session::Session(const SessionOptions& o) : impl_(std::make_unique<Impl>(o)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

std::vector<Failure> Session::run(std::string_view text, const RunSettings& settings) {
  const auto held = impl_->lock();
  return run_text(impl_->engine, text, settings);
}

std::vector<NameInfo> Session::names() const {
  const auto held = impl_->lock();
  std::vector<NameInfo> all;
  for (const auto& [name, entry] : impl_->engine.program().names().all())
    all.push_back(info_of(name, entry));
  return all;
}

std::optional<NameInfo> Session::find(std::string_view name) const {
  const auto held = impl_->lock();
  const Entry* e = impl_->engine.program().names().find(name);
  if (e == nullptr) return std::nullopt;
  return info_of(std::string(name), *e);
}

Tensor Session::get(std::string_view name) const {
  const auto held = impl_->lock();
  return impl_->engine.value(name);
}

void Session::set(const std::string& name, const Tensor& t) {
  const auto held = impl_->lock();
  require(is_name(name), "'{}' is no name: programs could not write it", name);
  const Entry* e = impl_->engine.program().names().find(name);
  require(e == nullptr || std::holds_alternative<TensorEntry>(*e),
          "'{}' is {}; expected a tensor's name", name, e == nullptr ? "" : kind_text(*e));
  impl_->engine.define(name, t);
}

void Session::erase(const std::string& name) {
  const auto held = impl_->lock();
  impl_->engine.entry(name);
  impl_->engine.program().erase(name);
  impl_->engine.program().keep();
}

ExportReport Session::export_program(std::string_view text, const std::filesystem::path& to,
                                     const ExportOptions& o) const {
  const auto held = impl_->lock();
  return deepx::export_program(impl_->engine, text, to, o);
}

const std::vector<InstructionInfo>& instructions() {
  static const std::vector<InstructionInfo> all = [] {
    std::vector<InstructionInfo> infos;
    for (const Instruction* i : all_instructions()) infos.push_back(info_of(*i));
    for (const BlockRow& r : block_rows())
      infos.push_back(
          {std::string(r.name), {}, std::string(r.usage) + " ... }", "", "", std::string(r.doc)});
    return infos;
  }();
  return all;
}

std::string help(std::string_view name) {
  const Instruction* row = find_instruction(name);
  const std::string_view known = row == nullptr ? name : row->name;
  for (const InstructionInfo& i : instructions()) {
    if (i.name != known) continue;
    std::string text = fmt::format("{}\n{}\n", i.usage, i.doc);
    if (!i.backward.empty()) text += i.backward + "\n";
    if (!i.dtypes.empty()) text += fmt::format("T: {}\n", join(row->dtypes.all, ", ", dtype_text));
    if (!i.spellings.empty()) text += fmt::format("also: {}\n", join(i.spellings));
    return text;
  }
  std::vector<std::string> all;
  for (const InstructionInfo& i : instructions()) all.push_back(i.name);
  const std::string near = closest(name, all);
  fail("there is no instruction '{}'{}", name,
       near.empty() ? "" : "; did you mean '" + near + "'?");
}

bool ends_in_block(std::string_view text) { return has_open_block(text); }

std::string formatted(std::string_view text) {
  Parser parser(text);
  std::string out;
  while (const std::optional<Statement> s = parser.next()) out += to_text(*s) + "\n";
  return out;
}

}  // namespace rondel::deepx
