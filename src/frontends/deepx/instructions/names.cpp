// Instructions that define, delete, print, save and load names.
#include "frontends/deepx/rows.h"

namespace rondel::deepx {
namespace {

OperandDef name(std::string_view n) { return {n, Category::name, Takes::any}; }
OperandDef result_name(std::string_view n) { return {n, Category::name, Takes::same}; }
OperandDef text(std::string_view n) { return {n, Category::text, Takes::any}; }

/// Only `deltensor` may delete a tensor.
void require_no_tensor(const Change& c, const Slot& s) {
  if (const Entry* e = c.find(s); e != nullptr && std::holds_alternative<TensorEntry>(*e))
    fail_at_position(s.written->at, "'{}' is a tensor", s.text);
}

void set_argument(Change& c) {
  require_no_tensor(c, c.output(0));
  const Tensor n = c.counted(c.input(0).number);
  if (n.rank() == 0) c.set(c.output(0), Argument{n});
  else c.set(c.output(0), Vector{n});
}

void set_vector(Change& c) {
  require_no_tensor(c, c.output(0));
  const Tensor n = c.counted(c.input(0).number);
  c.set(c.output(0), Vector{n.rank() == 0 ? n.reshaped({1}) : n});
}

void delete_argument(Change& c) {
  const Entry& e = c.entry(c.input(0));
  if (std::holds_alternative<TensorEntry>(e))
    fail_at_position(c.input(0).written->at, "'{}' is a tensor; deltensor deletes it",
                     c.input(0).text);
  c.erase(c.input(0));
}

void new_tensor(Change& c) {
  const Slot& shape = c.input(0);
  c.make_tensor(c.output(0), c.dtype(),
                shape_from(ir::integers_of(shape.number), c.dtype(), shape.written->at));
}

void copy_tensor(Change& c) {
  const TensorOperand& from = c.input(0).tensors[0];
  if (const Entry* e = c.find(c.output(0))) {
    const auto* to = std::get_if<TensorEntry>(e);
    if (to == nullptr) c.require_free(c.output(0));
    if (to->dtype != from.dtype || to->shape != from.shape)
      fail_at_position(c.output(0).written->at,
                       "'{}' is {} and '{}' is {}; a copy needs one type, or a new name",
                       c.output(0).text, type_text(to->dtype, to->shape), from.name,
                       type_text(from.dtype, from.shape));
  } else {
    c.make_tensor(c.output(0), from.dtype, from.shape);
  }
  c.set_tensor(c.output(0), c.tensor(from));
}

void rename_tensor(Change& c) {
  const TensorOperand& t = c.output(0).tensors[0];
  if (t.name == c.input(0).text) return;
  c.rename(t, c.input(0));
}

void print(Change& c) {
  c.entry(c.input(0));
  const Slot& format = c.input(1);
  c.request({Effect::Kind::print, c.input(0).text, format.text, c.input(0).written->at,
             format.written == nullptr ? Position() : format.written->at});
}

void request_file(Change& c, Effect::Kind kind, const Slot& path, std::string name,
                  const Position& at, TypeAnnotation annotation = {}) {
  c.request({kind, std::move(name), path.text, at, path.written->at, std::move(annotation)});
}

const InstructionRows names{{
    {.name = "argset",
     .doc = "s = a number, or a vector of several; an argument that there is gets a new value",
     .inputs = {{"number", Category::numbers}},
     .outputs = {result_name("s")},
     .needs_dtype = true,
     .change = set_argument},
    {.name = "vecset",
     .doc = "v = a vector of one or more numbers",
     .inputs = {{"number", Category::numbers}},
     .outputs = {result_name("v")},
     .needs_dtype = true,
     .change = set_vector},
    {.name = "argdel",
     .doc = "deletes an argument or a vector",
     .inputs = {name("s")},
     .change = delete_argument},
    {.name = "newtensor",
     .doc = "makes a tensor of zeros of a shape",
     .inputs = {vector("shape")},
     .outputs = {result_name("c")},
     .needs_dtype = true,
     .change = new_tensor},
    {.name = "copytensor",
     .doc = "c = a; makes c where there is none",
     .inputs = {tensor("a")},
     .outputs = {name("c")},
     .change = copy_tensor},
    {.name = "renametensor",
     .doc = "gives the tensor c a new name",
     .inputs = {name("name")},
     .outputs = {tensor("c")},
     .change = rename_tensor},
    {.name = "deltensor",
     .doc = "deletes a tensor",
     .inputs = {tensor("a")},
     .change = [](Change& c) { c.erase_tensor(c.input(0).tensors[0]); }},
    {.name = "print",
     .doc = "shows a tensor, an argument or a vector; the format of floats is as %.2f, of integers "
            "as %d",
     .inputs = {name("a"), optional(text("format"))},
     .change = print},
    {.name = "save",
     .doc = "writes a tensor to a .npy file, or to a path's two files .shape and .data",
     .inputs = {tensor("a"), text("path")},
     .change =
         [](Change& c) {
           const TensorOperand& t = c.input(0).tensors[0];
           request_file(c, Effect::Kind::save, c.input(1), t.name, t.at);
         }},
    {.name = "load",
     .doc = "makes the tensor c, else one named as the file's stem, of what save has written",
     .inputs = {text("path")},
     .outputs = {optional(name("c"))},
     .change =
         [](Change& c) {
           const Slot& to = c.output(0);
           request_file(c, Effect::Kind::load, c.input(0), to.text,
                        to.written == nullptr ? c.input(0).written->at : to.written->at,
                        c.annotation_of(to));
         }},
    {.name = "loadtensordata",
     .doc = "c = the elements in a file, of the type that c has",
     .inputs = {text("path")},
     .outputs = {tensor("c")},
     .spellings = {"load_tensor_data"},
     .change =
         [](Change& c) {
           const TensorOperand& t = c.output(0).tensors[0];
           request_file(c, Effect::Kind::load_data, c.input(0), t.name, t.at);
         }},
}};

}  // namespace
}  // namespace rondel::deepx
