#include "frontends/onnx/import.h"

#include "frontends/onnx/importer.h"
#include "frontends/onnx/survey.h"

#include <algorithm>
#include <iterator>

namespace rondel::onnx {
namespace {

DataFolder folder_for(const ImportOptions& options, const std::filesystem::path* model) {
  if (options.external_data_dir) return {*options.external_data_dir, true};
  if (model != nullptr) return {model->parent_path(), false};
  return {};
}

/// The model, and the folder of its external data.
struct Read {
  std::shared_ptr<pb::ModelProto> model;
  DataFolder folder;
};

Read read(const frontends::Source& s, const ImportOptions& options) {
  return {s.file ? read_model(*s.file) : parse_model(s.bytes),
          folder_for(options, s.file ? &*s.file : nullptr)};
}

Imported import_source(const frontends::Source& s, const ImportOptions& options) {
  Read r = read(s, options);
  return Importer(std::move(r.model), std::move(r.folder), options).run();
}

Survey survey_source(const frontends::Source& s, const ImportOptions& options) {
  Read r = read(s, options);
  return survey(r.model, std::move(r.folder), options);
}

/// Whether the bytes are not text and begin with the tag of a field of ModelProto.
bool begins_a_model(std::span<const std::byte> beginning) {
  if (beginning.empty()) return false;
  const auto is_text = [](std::byte b) {
    const auto c = static_cast<unsigned char>(b);
    return c >= 0x20 || c == '\t' || c == '\n' || c == '\r';
  };
  if (std::ranges::all_of(beginning, is_text)) return false;
  const auto tag = static_cast<int>(beginning[0]);
  if (tag > 0x7F) return true;  // a tag of two bytes: a field with a high number
  using Model = pb::ModelProto;
  const int fields[] = {Model::kIrVersionFieldNumber,       Model::kProducerNameFieldNumber,
                        Model::kProducerVersionFieldNumber, Model::kDomainFieldNumber,
                        Model::kModelVersionFieldNumber,    Model::kDocStringFieldNumber,
                        Model::kGraphFieldNumber,           Model::kOpsetImportFieldNumber,
                        Model::kMetadataPropsFieldNumber};
  return std::ranges::find(fields, tag >> 3) != std::end(fields);
}

}  // namespace

Imported import_file(const std::filesystem::path& path, const ImportOptions& options) {
  return import_source({path, {}}, options);
}

Imported import_bytes(std::span<const std::byte> bytes, const ImportOptions& options) {
  return import_source({std::nullopt, bytes}, options);
}

const frontends::FrontEnd& front_end() {
  static const frontends::FrontEnd row{
      .name = "onnx",
      .doc = "a serialized ModelProto",
      .extensions = {".onnx", ".pb"},
      .recognises = begins_a_model,
      .import = import_source,
      .survey = survey_source,
  };
  return row;
}

}  // namespace rondel::onnx
