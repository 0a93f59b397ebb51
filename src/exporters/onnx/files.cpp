#include "exporters/onnx/files.h"

#include "base/error.h"
#include "base/file.h"
#include "exporters/onnx/checker.h"
#include "formats/onnx/protos.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include <unistd.h>

namespace rondel::exporters {
namespace {

namespace fs = std::filesystem;

/// Tensors with fewer bytes stay in the model.
constexpr std::size_t least_external = 1024;
/// The alignment of tensors in the file of external data, so that they can be mapped.
constexpr std::uint64_t page = 4096;

/// A new folder beside a file; the destructor removes it with its contents.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const fs::path& beside) {
    const fs::path parent = beside.has_parent_path() ? beside.parent_path() : fs::path(".");
    std::string pattern = (parent / ".rondel-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
      fail("cannot write to '{}': {}", beside.string(), std::strerror(errno));
    folder_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  fs::path operator/(const fs::path& name) const { return folder_ / name; }

 private:
  fs::path folder_;
};

void write(std::ofstream& file, const char* data, std::size_t bytes, const fs::path& to) {
  file.write(data, static_cast<std::streamsize>(bytes));
  require(file.good(), "cannot write to '{}': {}", to.string(), std::strerror(errno));
}

void refer(pb::TensorProto& t, const std::string& file, std::uint64_t offset, std::size_t bytes) {
  t.set_data_location(pb::TensorProto::EXTERNAL);
  const auto entry = [&](const char* key, const std::string& value) {
    auto* e = t.add_external_data();
    e->set_key(key);
    e->set_value(value);
  };
  entry("location", file);
  entry("offset", std::to_string(offset));
  entry("length", std::to_string(bytes));
}

/// Writes the larger initializers one after the other, each at the start of a page.
std::uint64_t write_data(Model& m, const fs::path& path, const std::string& name) {
  std::ofstream file(path, std::ios::binary);
  std::uint64_t at = 0;
  for (std::size_t k = 0; k < m.initializers.size(); ++k) {
    pb::TensorProto& t = *m.proto.mutable_graph()->mutable_initializer(static_cast<int>(k));
    const Tensor& value = m.initializers[k];
    const bool text = value.dtype() == DType::string;
    const std::string bytes = text ? std::string() : onnx::packed_bytes(value);
    if (bytes.size() < least_external) {
      const std::string known = t.name();
      t = onnx::tensor_proto(value);
      t.set_name(known);
      continue;
    }
    const std::string gap((page - at % page) % page, '\0');
    write(file, gap.data(), gap.size(), path);
    at += gap.size();
    write(file, bytes.data(), bytes.size(), path);
    refer(t, name, at, bytes.size());
    at += bytes.size();
  }
  file.close();
  require(!file.fail(), "cannot write to '{}': {}", path.string(), std::strerror(errno));
  return at;
}

void write_proto(const pb::ModelProto& proto, const fs::path& path) {
  std::ofstream file(path, std::ios::binary);
  const bool written = file.good() && proto.SerializeToOstream(&file);
  file.close();
  require(written && !file.fail(), "cannot write to '{}': {}", path.string(), std::strerror(errno));
}

/// The file name of the external data. onnx refuses two dots in a row, for they may lead out of the
/// folder, and backslashes are separators to some readers; these get the codes that URLs have.
std::string data_name_of(const fs::path& model) {
  std::string name;
  for (const char c : model.filename().string() + ".data") {
    if (c == '\\') name += "%5C";
    else if (c == '.' && name.ends_with('.')) name += "%2E";
    else name += c;
  }
  return name;
}

}  // namespace

void write_files(Model& m, const fs::path& given, bool external) {
  const fs::path to = replaced_file(given);
  const TemporaryFolder temporary(to);
  // A name of its own: onnx's checker takes what stands before a backslash in `to` for a folder.
  const fs::path model = temporary / "model.onnx";
  const std::string data_name = data_name_of(to);
  if (external) {
    m.report.external_bytes = write_data(m, temporary / data_name, data_name);
    write_proto(m.proto, model);
    run_checker(m, model);
  } else {
    embed(m);
    run_checker(m);
    write_proto(m.proto, model);
  }
  m.report.bytes = fs::file_size(model);
  if (m.report.external_bytes > 0)
    replace_file(temporary / data_name, fs::path(to).replace_filename(data_name));
  replace_file(model, to);
}

}  // namespace rondel::exporters
