#pragma once
#include "frontends/mdf/model.h"

#include <rondel/tensor.h>

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace rondel::mdf {

/// What a place in the table of a model's values holds.
enum class Role : std::uint8_t { output_port, parameter, function, input_port };

struct Slot {
  Role role;
  std::size_t node = 0, at = 0;  ///< a node, and one of its ports, parameters or functions
  DType dtype = DType::f64;
  Shape shape = {};
};

/// The values that an evaluation leaves behind: those that the next one may read and those that are
/// recorded. An output port that gives a parameter as it is shares the parameter's slot.
class Layout {
 public:
  /// Throws Error(caller) for a recorded name that there is not.
  Layout(const Graph&, const std::vector<std::string>& record);

  std::vector<Slot> slots;
  std::vector<std::size_t> recorded;  ///< slots, perhaps one for two names
  std::vector<std::string> names;     ///< of the recorded ones

  /// The slot of a value; none where neither the next evaluation nor a record reads it.
  std::optional<std::size_t> of(Role, std::size_t node, std::size_t at) const;

 private:
  std::size_t add(Role, std::size_t node, std::size_t at);
  void add_output(const Node&, std::size_t node, std::size_t at);

  std::map<std::tuple<Role, std::size_t, std::size_t>, std::size_t> numbers_;
};

/// What may be recorded: "node.port" for output ports, then parameters, functions and input ports.
std::vector<std::string> recordable(const Graph&);

/// "A.y"
std::string name(const Graph&, const Slot&);
/// "node 'A', output port 'y'"
std::string where(const Graph&, const Slot&);

}  // namespace rondel::mdf
