#include "frontends/onnx/import.h"

#include "frontends/onnx/check.h"
#include "frontends/onnx/importer.h"

namespace rondel::onnx {
namespace {

DataFolder folder_for(const ImportOptions& options, const std::filesystem::path* model) {
  if (options.external_data_dir) return {*options.external_data_dir, true};
  if (model != nullptr) return {model->parent_path(), false};
  return {};
}

std::vector<Finding> check(const std::shared_ptr<pb::ModelProto>& model, DataFolder folder,
                           const ImportOptions& options) {
  std::vector<Finding> findings = missing_ops(*model);
  const bool ops_missing = !findings.empty();
  try {
    Imported imported = Importer(model, std::move(folder), options).run();
    findings.insert(findings.end(), imported.findings.begin(), imported.findings.end());
  } catch (const Error& e) {
    // An op that is missing ends the import too, and has been named.
    if (!ops_missing) findings.push_back({Finding::Level::error, model->graph().name(), e.what()});
  }
  return findings;
}

}  // namespace

Imported import_file(const std::filesystem::path& path, const ImportOptions& options) {
  return Importer(read_model(path), folder_for(options, &path), options).run();
}

Imported import_bytes(std::span<const std::byte> bytes, const ImportOptions& options) {
  return Importer(parse_model(bytes), folder_for(options, nullptr), options).run();
}

std::vector<Finding> check_file(const std::filesystem::path& path, const ImportOptions& options) {
  return check(read_model(path), folder_for(options, &path), options);
}

std::vector<Finding> check_bytes(std::span<const std::byte> bytes, const ImportOptions& options) {
  return check(parse_model(bytes), folder_for(options, nullptr), options);
}

}  // namespace rondel::onnx
