#pragma once
#include "frontends/mdf/model.h"

#include <rondel/tensor.h>

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace rondel::mdf {

/// The kind of item that a slot of the value table belongs to.
enum class Role : std::uint8_t { output_port, parameter, function, input_port };

/// An entry of the value table, with its type.
struct Slot {
  Role role;
  std::size_t node = 0, at = 0;  ///< the node, and the index of its port, parameter or function
  DType dtype = DType::f64;
  Shape shape = {};
};

/// The table of values that an evaluation leaves behind: the values that the next evaluation can
/// read, and the recorded values. An output port whose value is just a parameter shares the
/// parameter's slot.
class Layout {
 public:
  /// Slots have no types yet. Throws Error(caller) for an unknown or duplicate name in `record`.
  Layout(const Graph&, const std::vector<std::string>& record);

  std::vector<Slot> slots;
  std::vector<std::size_t> recorded;  ///< slot indices; two names can share a slot
  std::vector<std::string> names;     ///< of the recorded values

  /// Adds a slot for a value that is not in the table yet.
  void keep(Role, std::size_t node, std::size_t at);
  /// The slot of a value; nothing if the value is not in the table.
  std::optional<std::size_t> of(Role, std::size_t node, std::size_t at) const;

 private:
  std::size_t add(Role, std::size_t node, std::size_t at);
  void add_output(const Node&, std::size_t node, std::size_t at);

  std::map<std::tuple<Role, std::size_t, std::size_t>, std::size_t> numbers_;
};

/// All names that can be recorded: "node.port" for output ports, then parameters, functions and
/// input ports.
std::vector<std::string> recordable(const Graph&);

/// "A.y"
std::string name(const Graph&, const Slot&);
/// "node 'A', output port 'y'"
std::string where(const Graph&, const Slot&);

}  // namespace rondel::mdf
