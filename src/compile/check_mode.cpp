#include "compile/check_mode.h"

#include "base/error.h"
#include "scalar/with_checks.h"

#include <cstdlib>
#include <string_view>

namespace rondel::compile {
namespace {

bool is_set(const char* variable, const char* meaning) {
  const char* text = std::getenv(variable);
  const std::string value = text == nullptr ? "" : text;
  require(value.empty() || value == "0" || value == "1", "{} is '{}'; expected 0 or 1 ({})",
          variable, value, meaning);
  return value == "1";
}

class CheckingExecutable : public scalar::Executable {
 public:
  explicit CheckingExecutable(std::shared_ptr<const scalar::Executable> code)
      : code_(std::move(code)) {}
  scalar::Status run(scalar::Context& c, const scalar::View* v,
                     const std::int64_t* params) const override {
    scalar::check_views(program(), v);
    return code_->run(c, v, params);
  }
  const scalar::Program& program() const override { return code_->program(); }
  bool native() const override { return code_->native(); }

 private:
  const std::shared_ptr<const scalar::Executable> code_;
};

}  // namespace

bool check_mode_from_environment() { return is_set("RONDEL_CHECK", "check mode"); }
bool divides_all_from_environment() {
  return is_set("RONDEL_DIVIDE", "threads share all loops and products");
}

std::shared_ptr<const scalar::Executable> checking_views(
    std::shared_ptr<const scalar::Executable> code) {
  return std::make_shared<CheckingExecutable>(std::move(code));
}

bool verifies() {
#ifdef NDEBUG
  const char* asked = std::getenv("RONDEL_VERIFY");
  return asked != nullptr && std::string_view(asked) == "1";
#else
  return true;
#endif
}

}  // namespace rondel::compile
