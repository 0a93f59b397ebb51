#include "scalar/native_executable.h"

#include <rondel/tensor.h>

namespace rondel::scalar {

NativeExecutable::NativeExecutable(std::shared_ptr<const Program> program, NativeFunction function,
                                   std::shared_ptr<const void> code, bool takes_workspace,
                                   std::vector<const void*> links)
    : program_(std::move(program)), function_(function), code_(std::move(code)),
      workspace_bytes_(takes_workspace ? program_->workspace_bytes() : 0),
      links_(std::move(links)) {}

Status NativeExecutable::run(Context& context, const View* views,
                             const std::int64_t* params) const {
  if (context.workspace || workspace_bytes_ == 0) [[likely]]
    return function_(&context, views, params, links_.data());
  return run_with_workspace(context, views, params);
}

Status NativeExecutable::run_with_workspace(Context& context, const View* views,
                                            const std::int64_t* params) const {
  const Tensor workspace(DType::u8, {static_cast<std::int64_t>(workspace_bytes_)});
  context.workspace = workspace.data();
  const auto forget = [](Context* c) { c->workspace = nullptr; };
  const std::unique_ptr<Context, decltype(forget)> lent(&context, forget);
  return function_(&context, views, params, links_.data());
}

std::vector<const void*> links_of(const Program& program) {
  std::vector<const void*> links;
  for (const Call& call : program.calls) {
    links.push_back(reinterpret_cast<const void*>(call.function));
    links.push_back(call.attributes.get());
  }
  return links;
}

}  // namespace rondel::scalar
