#include "exporters/onnx/outline.h"

#include "base/text.h"

#include <algorithm>
#include <unordered_set>

namespace rondel::exporters {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<pb::NodeProto>;

/// The largest number of nested graphs in a model: each adds three levels (node, attribute, graph),
/// and the type of a value in the innermost graph adds five.
constexpr int max_depth = (100 - 1 - 5) / 3;
constexpr const char* domain = "rondel.outlined";

/// The free names of a node: the node or its graphs read them and do not define them. They are in
/// the order of their first use. Names in a model are unique (names.h).
class FreeNames {
 public:
  explicit FreeNames(const pb::NodeProto& n) {
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

class Outliner {
 public:
  explicit Outliner(pb::ModelProto& m) : m_(m) {}

  /// Returns the number of functions made.
  int run() {
    outline(*m_.mutable_graph()->mutable_node(), true);
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
  /// Returns the remaining depth of nested graphs.
  int outline(Nodes& nodes, bool outermost) {
    int depth = 0;
    for (pb::NodeProto& n : nodes) {
      int own = 0;
      for (pb::AttributeProto& a : *n.mutable_attribute())
        if (a.has_g()) own = std::max(own, 1 + outline(*a.mutable_g()->mutable_node(), false));
      if (own == max_depth && !outermost) {
        call(n);
        own = 0;
      }
      depth = std::max(depth, own);
    }
    return depth;
  }

  /// Moves a node into a function and puts a call in its place.
  void call(pb::NodeProto& n) {
    const FreeNames free(n);
    pb::FunctionProto& f = *m_.add_functions();
    f.set_domain(domain);
    f.set_name(fmt::format("outlined_{}", m_.functions_size()));
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

/// The oldest IR version with functions.
constexpr int with_functions = 8;

}  // namespace

void outline_deep_graphs(Model& m) {
  const int functions = Outliner(m.proto).run();
  if (functions == 0) return;
  m.report.ir_version = std::max(m.report.ir_version, with_functions);
  m.proto.set_ir_version(m.report.ir_version);
  m.report.notes.push_back(
      fmt::format("what stands more than {} loops and conditionals deep is written as functions of "
                  "the model, {} of them: readers of protobuf take no deeper graphs",
                  max_depth, functions));
}

}  // namespace rondel::exporters
