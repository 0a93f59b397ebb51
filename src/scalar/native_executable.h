#pragma once
#include "scalar/program.h"

#include <memory>
#include <vector>

namespace rondel::scalar {

/// The function that the code generator makes of a program. `links`: the addresses that code finds
/// there, if it is not linked to them (`links_of`).
using NativeFunction = Status (*)(Context*, const View* views, const std::int64_t* params,
                                  const void* const* links);

/// A program with machine code for it.
class NativeExecutable final : public Executable {
 public:
  /// `function`: in memory that `code` keeps alive. `takes_workspace`: the function reads
  /// `Context::workspace`; a caller that provides none gets one for each run. `links`: what
  /// the function gets.
  NativeExecutable(std::shared_ptr<const Program>, NativeFunction function,
                   std::shared_ptr<const void> code, bool takes_workspace,
                   std::vector<const void*> links = {});

  Status run(Context&, const View*, const std::int64_t* params) const override;
  const Program& program() const override { return *program_; }
  bool native() const override { return true; }

 private:
  Status run_with_workspace(Context&, const View*, const std::int64_t* params) const;

  std::shared_ptr<const Program> program_;
  NativeFunction function_;
  std::shared_ptr<const void> code_;
  std::size_t workspace_bytes_;  ///< 0: the function takes none
  std::vector<const void*> links_;
};

/// The function and the attributes of each call of the program.
std::vector<const void*> links_of(const Program&);

}  // namespace rondel::scalar
