#include "frontends/onnx/microsoft/signatures.h"

#include "base/error.h"

#include <charconv>
#include <map>
#include <span>

namespace rondel::onnx {
namespace {

/// One row. Inputs and outputs are "type name", with "?" after the name if it may be left out and
/// "*" if it takes any number of values. Attributes are "type name": "= value" gives the default,
/// "!" stands after a name that must be given. `type` is a row of `type_sets` or a name of ONNX.
struct Signature {
  std::string_view op, inputs, outputs, attributes = {}, domain = microsoft_domain;
};

struct TypeSet {
  std::string_view name;
  std::vector<std::string> types;
};

std::span<const TypeSet> type_sets() {
  static const TypeSet sets[] = {
      {"real", {"tensor(float16)", "tensor(float)", "tensor(double)", "tensor(bfloat16)"}},
      {"single_or_half", {"tensor(float16)", "tensor(float)", "tensor(bfloat16)"}},
      {"byte", {"tensor(int8)", "tensor(uint8)"}},
      {"byte_or_float", {"tensor(int8)", "tensor(uint8)", "tensor(float)"}},
      {"byte_or_real",
       {"tensor(int8)", "tensor(uint8)", "tensor(float16)", "tensor(float)", "tensor(double)",
        "tensor(bfloat16)"}},
      {"u8_or_real",
       {"tensor(uint8)", "tensor(float16)", "tensor(float)", "tensor(double)", "tensor(bfloat16)"}},
      {"four_bits_or_byte", {"tensor(int4)", "tensor(uint4)", "tensor(uint8)"}},
      {"index", {"tensor(int32)", "tensor(int64)"}},
      {"quantized",
       {"tensor(int8)", "tensor(uint8)", "tensor(int16)", "tensor(uint16)", "tensor(int32)",
        "tensor(int4)", "tensor(uint4)"}},
      {"any", pb::OpSchema::all_tensor_types_ir13()},
  };
  return sets;
}

constexpr std::string_view conv_attributes =
    "string auto_pad = NOTSET, ints dilations, int group = 1, ints kernel_shape, ints pads, "
    "ints strides";
constexpr std::string_view fused_conv_attributes =
    "string activation, floats activation_params, string auto_pad = NOTSET, ints dilations, "
    "int group = 1, ints kernel_shape, ints pads, ints strides";
constexpr std::string_view quantized_pair =
    "byte A, float A_scale, byte A_zero_point?, byte B, float B_scale, byte B_zero_point?, "
    "float C_scale, byte C_zero_point?";
constexpr std::string_view quantized_one =
    "byte X, float X_scale, byte X_zero_point?, float Y_scale, byte Y_zero_point?";

std::span<const Signature> signatures() {
  static constexpr Signature table[] = {
      // Activations.
      {"Gelu", "real X", "real Y"},
      {"FastGelu", "real X, real bias?", "real Y"},
      {"BiasGelu", "real A, real B", "real C"},
      {"QuickGelu", "real X", "real Y", "float alpha = 1.702"},
      {"BiasSplitGelu", "real X, real bias", "real Y"},
      {"BiasAdd", "real X, real bias, real skip", "real Y"},
      {"BiasSoftmax", "real data, real bias", "real output",
       "int axis = 1, int is_inner_broadcast!"},
      {"BiasDropout", "real data, real bias, real residual?, real ratio?, bool training_mode?",
       "real output, bool mask?", "int seed"},

      // Products.
      {"FusedMatMul", "real A, real B", "real Y",
       "float alpha = 1, int transA = 0, int transB = 0, int transBatchA = 0, "
       "int transBatchB = 0"},
      {"TransposeMatMul", "real A, real B", "real Y",
       "float alpha = 1, int transA = 0, int transB = 0"},
      {"FusedGemm", "real A, real B, real C?", "real Y",
       "string activation, float activation_alpha, float activation_beta, float activation_gamma, "
       "float alpha = 1, float beta = 1, int transA = 0, int transB = 0"},
      {"GemmFastGelu", "real X, real W, real bias?", "real Y"},
      {"FusedConv", "real X, real W, real B?, real Z?", "real Y", fused_conv_attributes},
      {"NhwcConv", "real X, real W, real B?", "real Y", conv_attributes},
      {"NhwcFusedConv", "real X, real W, real B?, real Z?", "real Y", fused_conv_attributes},
      {"Inverse", "real X", "real Y"},
      {"MatMulNBits",
       "real A, uint8 B, real scales, u8_or_real zero_points?, int32 g_idx?, real bias?", "real Y",
       "int K!, int N!, int accuracy_level = 0, int bits = 4, int block_size!, "
       "int weight_prepacked = 0"},
      {"MatMulBnb4", "real A, uint8 B, real absmax", "real Y",
       "int K!, int N!, int block_size!, int quant_type!, int training_mode = 0, int transB = 1"},
      {"GatherBlockQuantized",
       "four_bits_or_byte data, index indices, real scales, four_bits_or_byte zero_points?",
       "real output",
       "int bits = 4, int block_size = 128, int gather_axis = 0, int quantize_axis = 1"},

      // Normalisations.
      {"LayerNormalization", "real X, real Scale, real B?", "real Y, real Mean?, real InvStdDev?",
       "int axis = -1, float epsilon = 1e-5, "
       "int stash_type = 1",
       ""},
      {"SimplifiedLayerNormalization", "real X, real scale", "real Y, real inv_std_var?",
       "int axis = -1, float epsilon = 1e-5, int stash_type = 1", ""},
      {"SkipLayerNormalization", "real input, real skip, real gamma, real beta?, real bias?",
       "real output, float mean?, float inv_std_var?, real input_skip_bias_sum?",
       "float epsilon = 1e-12"},
      {"SkipSimplifiedLayerNormalization", "real input, real skip, real gamma, real bias?",
       "real output, float mean?, float inv_std_var?, real input_skip_bias_sum?",
       "float epsilon = 1e-12"},
      {"EmbedLayerNormalization",
       "int32 input_ids, int32 segment_ids?, real word_embedding, real position_embedding, "
       "real segment_embedding?, real gamma, real beta, int32 mask?, int32 position_ids?",
       "real output, int32 mask_index?, real embedding_sum?",
       "float epsilon = 1e-12, int mask_index_type"},
      {"QEmbedLayerNormalization",
       "int32 input_ids, int32 segment_ids?, byte word_embedding_quant, "
       "byte position_embedding_quant, byte segment_embedding?, byte gamma_quant, byte beta_quant, "
       "int32 mask?, float word_embedding_scale, float position_embedding_scale, "
       "float segment_embedding_scale?, float gamma_scale, float beta_scale, "
       "byte word_embedding_zero_point, byte position_embedding_zero_point, "
       "byte segment_embedding_zero_point?, byte gamma_zero_point, byte beta_zero_point",
       "float layernorm_out, int32 mask_index_out", "float epsilon = 1e-12"},
      {"GroupNorm", "real X, real gamma, real beta", "real Y",
       "int activation!, int channels_last = 1, float epsilon = 1e-5, int groups!"},
      {"SkipGroupNorm", "real X, real gamma, real beta, real skip, real bias?", "real Y, real S?",
       "int activation!, int channels_last = 1, float epsilon = 1e-5, int groups!"},

      // Attention.
      {"Attention",
       "real input, real weights, real bias?, int32 mask_index?, real past?, "
       "real attention_bias?, int32 past_sequence_length?",
       "real output, real present?",
       "int do_rotary, float mask_filter_value, int num_heads!, int past_present_share_buffer, "
       "ints qkv_hidden_sizes, int rotary_embedding_dim, float scale, int unidirectional = 0"},
      {"MultiHeadAttention",
       "real query, real key?, real value?, real bias?, int32 key_padding_mask?, "
       "real attention_bias?, real past_key?, real past_value?, int32 past_sequence_length?, "
       "int32 cache_indirection?",
       "real output, real present_key?, real present_value?, real qk?",
       "float mask_filter_value, int num_heads!, float scale, int unidirectional = 0"},
      {"GroupQueryAttention",
       "real query, real key?, real value?, byte_or_real past_key?, byte_or_real past_value?, "
       "int32 seqlens_k, int32 total_sequence_length, real cos_cache?, real sin_cache?, "
       "int64 position_ids?, real attention_bias?, real head_sink?, float k_scale?, "
       "float v_scale?, real q_norm_weight?, real k_norm_weight?",
       "real output, byte_or_real present_key?, byte_or_real present_value?, real output_qk?",
       "int causal = 1, int do_rotary = 0, string k_quant_type = NONE, int kv_cache_bit_width, "
       "int kv_num_heads!, int local_window_size = -1, int num_heads!, "
       "float qk_norm_epsilon = 1e-6, int qk_output = 0, int rotary_interleaved = 0, float scale, "
       "int sliding_window_cache = 0, int smooth_softmax = -1, float softcap = 0, "
       "string v_quant_type = NONE"},
      {"RotaryEmbedding", "real input, int64 position_ids, real cos_cache, real sin_cache",
       "real output",
       "int interleaved = 0, int is_packed_batching = 0, int num_heads = 0, "
       "int rotary_embedding_dim = 0, float scale = 1"},
      {"LinearAttention",
       "single_or_half query, single_or_half key, single_or_half value, "
       "single_or_half past_state?, single_or_half decay?, single_or_half beta?",
       "single_or_half output, single_or_half present_state",
       "int chunk_size = 64, int kv_num_heads!, int q_num_heads!, float scale = 0, "
       "int state_window = 0, string update_rule = gated_delta"},
      {"CausalConvWithState", "real input, real weight, real bias?, real past_state?",
       "real output, real present_state",
       "string activation = none, int channels_last = 0, int dilation = 1, int ndim = 1, "
       "int state_window = 0"},

      // Quantised.
      {"QuantizeLinear", "real x, real y_scale, quantized y_zero_point?", "quantized y",
       "int axis"},
      {"DequantizeLinear", "quantized x, real x_scale, quantized x_zero_point?", "real y",
       "int axis"},
      {"MatMulIntegerToFloat",
       "byte A, byte B, real a_scale, real b_scale, byte a_zero_point?, byte b_zero_point?, "
       "real bias?",
       "real Y"},
      {"DynamicQuantizeMatMul", "float A, byte B, float b_scale, byte b_zero_point?, float bias?",
       "float Y"},
      {"DynamicQuantizeLSTM",
       "float X, byte W, byte R, float B?, int32 sequence_lens?, float initial_h?, "
       "float initial_c?, float P?, float W_scale, byte W_zero_point, float R_scale, "
       "byte R_zero_point",
       "float Y?, float Y_h?, float Y_c?",
       "floats activation_alpha, floats activation_beta, strings activations, float clip, "
       "string direction = forward, int hidden_size, int input_forget = 0"},
      {"QGemm",
       "byte A, float a_scale, byte a_zero_point, byte B, float b_scale, byte b_zero_point, "
       "int32 C?, float y_scale?, byte y_zero_point?",
       "byte_or_float Y", "float alpha = 1, int transA = 0, int transB = 0"},
      {"QAttention",
       "byte input, byte weight, real bias, real input_scale, real weight_scale, "
       "int32 mask_index?, byte input_zero_point?, byte weight_zero_point?, real past?",
       "real output, real present?",
       "int do_rotary, float mask_filter_value, int num_heads!, int past_present_share_buffer, "
       "float scale, int unidirectional = 0"},
      {"QLinearAdd", quantized_pair, "byte C"},
      {"QLinearMul", quantized_pair, "byte C"},
      {"QLinearSigmoid", quantized_one, "byte Y"},
      {"QLinearLeakyRelu", quantized_one, "byte Y", "float alpha = 0.01"},
      {"QLinearSoftmax",
       "byte X, float X_scale, byte x_zero_point?, float y_scale, "
       "byte y_zero_point",
       "byte Y", "int axis = -1, int opset!"},
      {"QLinearGlobalAveragePool", quantized_one, "byte Y", "int channels_last = 0"},
      {"QLinearAveragePool", quantized_one, "byte Y",
       "string auto_pad = NOTSET, int ceil_mode = 0, int channels_last = 0, "
       "int count_include_pad = 0, ints kernel_shape!, ints pads, ints strides"},
      {"QLinearReduceMean", quantized_one, "byte Y", "ints axes!, int keepdims!"},
      {"QLinearConcat", "float Y_scale, byte Y_zero_point, byte_or_float inputs*", "byte Y",
       "int axis!"},
      {"QLinearWhere",
       "bool condition, byte X, float x_scale, byte x_zero_point, byte Y, float y_scale, "
       "byte y_zero_point, float z_scale, byte z_zero_point",
       "byte Z"},
      {"QLinearConv",
       "byte x, float x_scale, byte x_zero_point, byte w, float w_scale, byte w_zero_point, "
       "float y_scale, byte y_zero_point, int32 B?",
       "byte y",
       "string auto_pad = NOTSET, int channels_last = 0, ints dilations, int group = 1, "
       "ints kernel_shape, ints pads, ints strides"},
      {"NhwcMaxPool", "byte x", "byte y",
       "string auto_pad = NOTSET, int ceil_mode = 0, ints dilations, ints kernel_shape!, "
       "ints pads, ints strides"},

      // Text.
      {"Tokenizer", "string X", "string Y",
       "int mark!, int mincharnum!, string pad_value!, strings separators, string tokenexp"},

      // Generation.
      {"GreedySearch",
       "int32 input_ids, int32 max_length, int32 min_length?, float repetition_penalty?, "
       "int32 vocab_mask?, int32 prefix_vocab_mask?, int32 attention_mask?",
       "int32 sequences",
       "graph decoder!, int decoder_start_token_id = -1, graph encoder, int eos_token_id!, "
       "graph init_decoder, int model_type = 0, int no_repeat_ngram_size = 0, int pad_token_id!, "
       "int vocab_size = -1"},
      {"BeamSearch",
       "int32 input_ids, int32 max_length, int32 min_length?, int32 num_beams, "
       "int32 num_return_sequences, real length_penalty?, real repetition_penalty?, "
       "int32 vocab_mask?, int32 prefix_vocab_mask?, int32 attention_mask?, "
       "int32 decoder_input_ids?, int32 logits_processor?, int32 cross_qk_layer_head?, "
       "int32 extra_decoding_ids?",
       "int32 sequences, real sequences_scores?, real scores?, float cross_qk?, "
       "float non_speech_probs?",
       "graph decoder!, int decoder_start_token_id = -1, int early_stopping = 0, graph encoder, "
       "int eos_token_id!, graph init_decoder, int model_type = 0, int no_repeat_ngram_size = 0, "
       "int pad_token_id!, int vocab_size = -1"},
      {"WhisperBeamSearch",
       "real input_ids, int32 max_length, int32 min_length?, int32 num_beams, "
       "int32 num_return_sequences, real length_penalty?, real repetition_penalty?, "
       "int32 vocab_mask?, int32 prefix_vocab_mask?, int32 attention_mask?, "
       "int32 decoder_input_ids?, int32 logits_processor?, int32 cross_qk_layer_head?, "
       "int32 extra_decoding_ids?, real temperature?",
       "int32 sequences, real sequences_scores?, real scores?, float cross_qk?, "
       "real non_speech_probs?",
       "int beginning_timestamp_token_id = -1, graph decoder!, int decoder_output_cross_qk = 0, "
       "int decoder_start_token_id = -1, int early_stopping = 0, graph encoder, "
       "int eos_token_id!, graph init_decoder, int model_type = 2, int no_repeat_ngram_size = 0, "
       "int no_speech_token_id = -1, int no_timestamps_token_id = -1, int pad_token_id!, "
       "int start_of_lm_token_id = -1, int transcribe_token_id = -1, "
       "int translate_token_id = -1, int vocab_size = -1"},
      {"Sampling",
       "int32 input_ids, int32 max_length, int32 min_length?, float repetition_penalty?, "
       "int32 vocab_mask?, int32 prefix_vocab_mask?, int32 attention_mask?, "
       "int32 presence_mask?, int32 seed?",
       "int32 sequences, float filtered_logits?",
       "int custom = 0, graph decoder!, int decoder_start_token_id = -1, graph encoder, "
       "int eos_token_id!, float filter_value = -1e20, graph init_decoder, "
       "int min_tokens_to_keep = 0, int model_type = 0, int no_repeat_ngram_size = 0, "
       "int pad_token_id!, float presence_penalty = 0, float temperature = 1, float top_p = 0, "
       "int vocab_size = -1"},

      // Movement.
      {"Trilu", "any X, int64 k?", "any Y", "int upper = 1"},
      {"ExpandDims", "any X, int32 axis", "any Y"},
      {"GatherND", "any data, index indices", "any output"},
      {"GridSample", "real X, real Grid", "real Y",
       "int align_corners = 0, string mode = bilinear, string padding_mode = zeros"},
      {"Pad", "real data, int64 pads, real value?", "real output", "string mode = constant"},
      {"Range", "any start, any limit, any delta?", "any Y"},
      {"Unique", "any x", "any y, int64 idx, int64 counts"},
  };
  return table;
}

/// The parts of a list that commas separate, in order; each part is words between spaces.
std::vector<std::vector<std::string_view>> parts_of(std::string_view list) {
  std::vector<std::vector<std::string_view>> parts;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    std::string_view part = list.substr(0, comma);
    std::vector<std::string_view>& words = parts.emplace_back();
    while (!part.empty()) {
      const std::size_t space = part.find(' ');
      if (space != 0) words.push_back(part.substr(0, space));
      part.remove_prefix(space == std::string_view::npos ? part.size() : space + 1);
    }
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return parts;
}

/// Removes `mark` from the end of the name; whether it stood there.
bool take_mark(std::string_view& name, char mark) {
  if (!name.ends_with(mark)) return false;
  name.remove_suffix(1);
  return true;
}

bool is_type_set(std::string_view type) {
  for (const TypeSet& s : type_sets())
    if (s.name == type) return true;
  return false;
}

pb::OpSchema::FormalParameter port_of(std::span<const std::string_view> words) {
  std::string_view type = words[0], name = words[1];
  const bool optional = take_mark(name, '?'), variadic = take_mark(name, '*');
  const auto option = optional   ? pb::OpSchema::Optional
                      : variadic ? pb::OpSchema::Variadic
                                 : pb::OpSchema::Single;
  const std::string text = is_type_set(type) ? std::string(type) : fmt::format("tensor({})", type);
  return pb::OpSchema::FormalParameter(std::string(name), "", text, option, !variadic);
}

pb::AttributeProto::AttributeType attribute_type(std::string_view type) {
  if (type == "int") return pb::AttributeProto::INT;
  if (type == "float") return pb::AttributeProto::FLOAT;
  if (type == "string") return pb::AttributeProto::STRING;
  if (type == "graph") return pb::AttributeProto::GRAPH;
  if (type == "ints") return pb::AttributeProto::INTS;
  if (type == "floats") return pb::AttributeProto::FLOATS;
  invariant(type == "strings", "no attribute is of type {}", type);
  return pb::AttributeProto::STRINGS;
}

void add_attribute(pb::OpSchema& schema, std::span<const std::string_view> words) {
  std::string_view name = words[1];
  const bool required = take_mark(name, '!');
  const auto type = attribute_type(words[0]);
  if (words.size() < 4) {
    schema.Attr(std::string(name), "", type, required);
    return;
  }
  const std::string_view value = words[3];
  pb::AttributeProto given;
  given.set_name(std::string(name));
  given.set_type(type);
  if (type == pb::AttributeProto::INT) {
    std::int64_t i = 0;
    std::from_chars(value.data(), value.data() + value.size(), i);
    given.set_i(i);
  } else if (type == pb::AttributeProto::FLOAT) {
    float f = 0;
    std::from_chars(value.data(), value.data() + value.size(), f);
    given.set_f(f);
  } else {
    given.set_s(std::string(value));
  }
  schema.Attr(pb::OpSchema::Attribute(std::string(name), "", std::move(given)));
}

pb::OpSchema schema_of(const Signature& s) {
  pb::OpSchema schema;
  schema.SetName(std::string(s.op)).SetDomain(std::string(s.domain)).SinceVersion(1);
  int n = 0;
  for (const auto& words : parts_of(s.inputs)) schema.Input(n++, port_of(words));
  n = 0;
  for (const auto& words : parts_of(s.outputs)) schema.Output(n++, port_of(words));
  for (const auto& words : parts_of(s.attributes)) add_attribute(schema, words);
  for (const TypeSet& set : type_sets())
    schema.TypeConstraint(std::string(set.name), set.types, "");
  schema.Finalize();
  return schema;
}

using SchemaKey = std::pair<std::string, std::string>;  ///< domain, op

const std::map<SchemaKey, pb::OpSchema>& microsoft_schemas() {
  static const auto* const schemas = [] {
    auto* all = new std::map<SchemaKey, pb::OpSchema>();
    for (const Signature& s : signatures()) all->emplace(SchemaKey(s.domain, s.op), schema_of(s));
    return all;
  }();
  return *schemas;
}

}  // namespace

const pb::OpSchema* find_microsoft_schema(const std::string& op, const std::string& domain) {
  const auto it = microsoft_schemas().find({domain, op});
  return it == microsoft_schemas().end() ? nullptr : &it->second;
}

const pb::OpSchema* find_readable_schema(const std::string& op, std::int64_t version,
                                         const std::string& domain) {
  if (const pb::OpSchema* schema = find_schema(op, version, domain)) return schema;
  return find_microsoft_schema(op, domain);
}

std::vector<std::string> microsoft_ops() {
  std::vector<std::string> names;
  for (const auto& [key, schema] : microsoft_schemas())
    if (key.first == microsoft_domain) names.push_back(key.second);
  return names;
}

}  // namespace rondel::onnx
