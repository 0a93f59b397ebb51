#include "exporters/onnx/nests.h"

#include "base/text.h"

#include <algorithm>
#include <unordered_set>

namespace rondel::exporters {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<pb::NodeProto>;

/// A body adds three levels (node, attribute, graph), and the type of a value in it five.
constexpr int deepest = (100 - 1 - 5) / 3;
constexpr const char* domain = "rondel.nests";

/// The names that nodes read and do not define, each once, by first use. A model has each name once
/// (names.h).
class Free {
 public:
  explicit Free(const pb::NodeProto& n) {
    node(n);
    std::erase_if(read_, [&](const std::string& name) { return defined_.contains(name); });
  }
  const std::vector<std::string>& names() const { return read_; }

 private:
  void node(const pb::NodeProto& n) {
    for (const std::string& name : n.input()) read(name);
    for (const pb::AttributeProto& a : n.attribute())
      if (a.has_g()) graph(a.g());
    for (const std::string& name : n.output()) defined_.insert(name);
  }

  void graph(const pb::GraphProto& g) {
    for (const pb::ValueInfoProto& v : g.input()) defined_.insert(v.name());
    for (const pb::NodeProto& n : g.node()) node(n);
    for (const pb::ValueInfoProto& v : g.output()) read(v.name());
  }

  void read(const std::string& name) {
    if (!name.empty() && seen_.insert(name).second) read_.push_back(name);
  }

  std::vector<std::string> read_;
  std::unordered_set<std::string> seen_, defined_;
};

class Cutting {
 public:
  explicit Cutting(pb::ModelProto& m) : m_(m) {}

  /// How many functions there are in the end.
  int run() {
    cut(*m_.mutable_graph()->mutable_node(), true);
    const int made = m_.functions_size();
    if (made == 0) return 0;
    auto* opset = m_.add_opset_import();
    opset->set_domain(domain);
    opset->set_version(1);
    for (pb::FunctionProto& f : *m_.mutable_functions())
      *f.mutable_opset_import() = m_.opset_import();
    return made;
  }

 private:
  /// The graphs that are left in each other.
  int cut(Nodes& nodes, bool outermost) {
    int depth = 0;
    for (pb::NodeProto& n : nodes) {
      int own = 0;
      for (pb::AttributeProto& a : *n.mutable_attribute())
        if (a.has_g()) own = std::max(own, 1 + cut(*a.mutable_g()->mutable_node(), false));
      if (own == deepest && !outermost) {
        call(n);
        own = 0;
      }
      depth = std::max(depth, own);
    }
    return depth;
  }

  /// Puts a node into a function, and a call into its place.
  void call(pb::NodeProto& n) {
    const Free free(n);
    pb::FunctionProto& f = *m_.add_functions();
    f.set_domain(domain);
    f.set_name(fmt::format("nest_{}", m_.functions_size()));
    pb::NodeProto made;
    made.set_domain(domain);
    made.set_op_type(f.name());
    made.set_name(n.name());
    for (const std::string& name : free.names()) f.add_input(name), made.add_input(name);
    for (const std::string& name : n.output()) f.add_output(name), made.add_output(name);
    f.add_node()->Swap(&n);
    n = std::move(made);
  }

  pb::ModelProto& m_;
};

/// From which on models have functions.
constexpr int with_functions = 8;

}  // namespace

void cut_nests(Model& m) {
  const int functions = Cutting(m.proto).run();
  if (functions == 0) return;
  m.report.ir_version = std::max(m.report.ir_version, with_functions);
  m.proto.set_ir_version(m.report.ir_version);
  m.report.notes.push_back(
      fmt::format("what stands more than {} loops and conditionals deep is written as functions of "
                  "the model, {} of them: readers of protobuf take no deeper graphs",
                  deepest, functions));
}

}  // namespace rondel::exporters
