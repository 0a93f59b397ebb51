#include "frontends/onnx/import.h"

#include "frontends/onnx/importer.h"
#include "frontends/onnx/survey.h"

namespace rondel::onnx {
namespace {

DataFolder folder_for(const ImportOptions& options, const std::filesystem::path* model) {
  if (options.external_data_dir) return {*options.external_data_dir, true};
  if (model != nullptr) return {model->parent_path(), false};
  return {};
}

}  // namespace

Imported import_file(const std::filesystem::path& path, const ImportOptions& options) {
  return Importer(read_model(path), folder_for(options, &path), options).run();
}

Imported import_bytes(std::span<const std::byte> bytes, const ImportOptions& options) {
  return Importer(parse_model(bytes), folder_for(options, nullptr), options).run();
}

Survey survey_file(const std::filesystem::path& path, const ImportOptions& options) {
  return survey(read_model(path), folder_for(options, &path), options);
}

Survey survey_bytes(std::span<const std::byte> bytes, const ImportOptions& options) {
  return survey(parse_model(bytes), folder_for(options, nullptr), options);
}

}  // namespace rondel::onnx
