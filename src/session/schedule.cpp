#include "codegen/compiler.h"
#include "codegen/host.h"
#include "compile/plan_builder.h"
#include "compile/schedule_text.h"
#include "session/from_graph.h"
#include "session/front_ends.h"

#include <rondel/schedule.h>

namespace rondel {
namespace {

std::string text_of(const auto& model, const SessionOptions& o) {
  auto g = std::make_shared<const ir::Graph>(
      compile::compile_graph(session::read_model(model, o).graph, o));
  return compile::schedule_text(std::move(g), session::lowering_options(o, !o.jit),
                                codegen::Compiler().host());
}

}  // namespace

std::string schedule_text(const std::filesystem::path& model, const SessionOptions& o) {
  return text_of(model, o);
}

std::string schedule_text(std::span<const std::byte> model, const SessionOptions& o) {
  return text_of(model, o);
}

}  // namespace rondel
