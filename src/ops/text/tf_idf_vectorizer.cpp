#include "base/error.h"
#include "kernels/ngrams.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

using kernels::NgramPool;

NgramPool::Mode mode_of(const std::string& mode) {
  if (mode == "TF") return NgramPool::Mode::counts;
  if (mode == "IDF") return NgramPool::Mode::presence;
  require(mode == "TFIDF", "mode is '{}'; expected TF, IDF or TFIDF", mode);
  return NgramPool::Mode::weighted_counts;
}

NgramPool pool_of(const ir::Attributes& a) {
  NgramPool pool;
  pool.mode = mode_of(a.s("mode", ""));
  pool.shortest = a.i("min_gram_length");
  pool.longest = a.i("max_gram_length");
  pool.most_skipped = a.i("max_skip_count");
  pool.starts = a.ints("ngram_counts");
  pool.integers = a.ints("pool_int64s");
  pool.strings = a.strings("pool_strings");
  pool.columns = a.ints("ngram_indexes");
  pool.weights = a.floats("weights");
  return pool;
}

void tf_idf_vectorizer_rule(ir::TypeContext& c) {
  static constexpr DType integers[] = {DType::i32, DType::i64}, text[] = {DType::string};
  const NgramPool pool = pool_of(c.attributes());
  check(pool);
  require_dtypes(c, 0, pool.strings.empty() ? std::span<const DType>(integers) : text);
  const ir::Type& x = c.input(0);
  if (!x.has_rank()) return c.output(0, ir::Type::unranked(DType::f32));
  require(x.rank() == 1 || x.rank() == 2, "input 0 is {}; expected [n] or [rows, n]", to_text(x));
  ir::Extents out{pool.width()};
  if (x.rank() == 2) out.insert(out.begin(), x.extent(0));
  c.output(0, ir::Type::tensor(DType::f32, std::move(out)));
}

kernels::UnsizedKernel prepare_ngrams(const ir::Node& node, std::span<const ir::Type>) {
  return [ngrams = std::make_shared<const kernels::Ngrams>(pool_of(node.attributes))](
             kernels::UnsizedCall& call) { ngrams->count(call); };
}

const ir::OpEntry tf_idf_vectorizer{{
    .name = "tf_idf_vectorizer",
    .doc = "y = how often each n-gram of a pool stands in each row of tokens, or whether, times "
           "weights",
    .inputs = {{"x"}},
    .attributes = {{"pool_int64s", ir::Ints{}},
                   {"pool_strings", ir::Strings{}},
                   {"weights", ir::Floats{}}},
    .required = {"max_gram_length", "max_skip_count", "min_gram_length", "mode", "ngram_counts",
                 "ngram_indexes"},
    .type = tf_idf_vectorizer_rule,
    .meaning = unsized_kernel(prepare_ngrams),
    .can_fail = true,
}};

}  // namespace
}  // namespace rondel::ops
