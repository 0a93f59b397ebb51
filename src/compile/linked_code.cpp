#include "compile/linked_code.h"

#include <algorithm>

namespace rondel::compile {
namespace {

/// Notes in each run whether it is interpreted, as tiers do.
class NotedExecutable final : public scalar::Executable {
 public:
  explicit NotedExecutable(std::unique_ptr<scalar::Executable> code) : code_(std::move(code)) {}
  scalar::Status run(scalar::Context& c, const scalar::View* v,
                     const std::int64_t* params) const override {
    c.interpreted = !code_->native();
    return code_->run(c, v, params);
  }
  const scalar::Program& program() const override { return code_->program(); }
  bool native() const override { return code_->native(); }

 private:
  const std::unique_ptr<scalar::Executable> code_;
};

}  // namespace

LinkedCode::LinkedCode(std::vector<CodeAhead> codes) : codes_(std::move(codes)) {
  std::ranges::sort(codes_, {}, &CodeAhead::key);
}

std::shared_ptr<const scalar::Executable> LinkedCode::make(
    std::shared_ptr<const scalar::Program> program) {
  const std::vector<std::uint64_t> content = scalar::code_content(*program);
  for (const CodeAhead& code :
       std::ranges::equal_range(codes_, scalar::code_key(*program), {}, &CodeAhead::key))
    if (std::ranges::equal(code.content, content)) {
      auto links = scalar::links_of(*program);
      return std::make_shared<NotedExecutable>(std::make_unique<scalar::NativeExecutable>(
          std::move(program), code.function, nullptr, /*takes_workspace=*/true, std::move(links)));
    }
  return std::make_shared<NotedExecutable>(scalar::interpret(std::move(program)));
}

}  // namespace rondel::compile
