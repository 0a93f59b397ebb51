// Workloads written by hand in C++: the reference for loops that no runtime runs well.
// harness.py compiles this file with -O3 for the machine it runs on.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

namespace {

// exp(x) for x <= 0, without branches, so that loops with it are vectorized: 2^n times the Taylor
// polynomial of exp on [-ln(2)/2, ln(2)/2].
inline float exp_of_negative(float x) {
  const float bounded = std::max(x, -87.0F);
  const float n = std::floor(bounded * 1.44269504F + 0.5F);
  const float r = (bounded - n * 0.693359375F) + n * 2.12194440e-4F;
  float p = 1 / 5040.0F;
  for (const float c : {1 / 720.0F, 1 / 120.0F, 1 / 24.0F, 1 / 6.0F, 0.5F, 1.0F, 1.0F})
    p = p * r + c;
  return p * std::bit_cast<float>((static_cast<std::int32_t>(n) + 127) << 23);
}

inline float sigmoid(float x) {
  const float e = exp_of_negative(-std::abs(x));
  return (x < 0 ? e : 1.0F) / (1 + e);
}

inline float tanh_of(float x) {
  const float e = exp_of_negative(-2 * std::abs(x));
  return std::copysign((1 - e) / (1 + e), x);
}

// cos(x) for small |x|: minus or plus the Taylor polynomial of cos on [-pi/2, pi/2].
inline float cos_of(float x) {
  const float n = std::floor(x * 0.318309886F + 0.5F);
  const float r = (x - n * 3.140625F) - n * 9.67653589793e-4F;
  float p = -1 / 3628800.0F;
  for (const float c : {1 / 40320.0F, -1 / 720.0F, 1 / 24.0F, -0.5F, 1.0F}) p = p * (r * r) + c;
  return (static_cast<std::int32_t>(n) & 1) != 0 ? -p : p;
}

typedef float Lanes __attribute__((vector_size(32), aligned(4), may_alias));
constexpr std::int64_t lanes = 8;

// `rows` rows of c += a b for 16 columns, whose sums stay in registers. panel[k, 16]: the columns
// of b.
template <int rows>
void product_tile(std::int64_t k, std::int64_t n, const float* a, const float* panel, float* c) {
  Lanes sum[rows][2] = {};
  for (std::int64_t l = 0; l < k; ++l) {
    const Lanes left = *reinterpret_cast<const Lanes*>(panel + l * 2 * lanes);
    const Lanes right = *reinterpret_cast<const Lanes*>(panel + l * 2 * lanes + lanes);
#pragma GCC unroll 6
    for (int r = 0; r < rows; ++r) {
      const float x = a[r * k + l];
      sum[r][0] += x * left;
      sum[r][1] += x * right;
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < rows; ++r) {
    Lanes* out = reinterpret_cast<Lanes*>(c + r * n);
    out[0] += sum[r][0];
    out[1] += sum[r][1];
  }
}

// c[m, n] += a[m, k] b[k, n]. n is a multiple of 16.
void product(std::int64_t m, std::int64_t k, std::int64_t n, const float* a, const float* b,
             float* c) {
  std::vector<float> panel(static_cast<std::size_t>(k * 2 * lanes));
  for (std::int64_t j = 0; j < n; j += 2 * lanes) {
    for (std::int64_t l = 0; l < k; ++l)
      std::copy_n(b + l * n + j, 2 * lanes, panel.data() + l * 2 * lanes);
    std::int64_t i = 0;
    for (; i + 6 <= m; i += 6) product_tile<6>(k, n, a + i * k, panel.data(), c + i * n + j);
    for (; i + 2 <= m; i += 2) product_tile<2>(k, n, a + i * k, panel.data(), c + i * n + j);
    for (; i < m; ++i) product_tile<1>(k, n, a + i * k, panel.data(), c + i * n + j);
  }
}

// c[n] += a[k] b[k, n]. k is a multiple of 8.
void row_product(std::int64_t k, std::int64_t n, const float* a, const float* b, float* c) {
  for (std::int64_t l = 0; l < k; l += 8) {
    const float *x = a + l, *row = b + l * n;
#pragma omp simd
    for (std::int64_t j = 0; j < n; ++j)
      c[j] += ((x[0] * row[j] + x[1] * row[n + j]) +
               (x[2] * row[2 * n + j] + x[3] * row[3 * n + j])) +
              ((x[4] * row[4 * n + j] + x[5] * row[5 * n + j]) +
               (x[6] * row[6 * n + j] + x[7] * row[7 * n + j]));
  }
}

// The same for 64 columns: the sums stay in registers.
void row_product_64(std::int64_t k, const float* a, const float* b, float* c) {
  Lanes sum[8] = {};
  for (std::int64_t l = 0; l < k; ++l)
#pragma GCC unroll 8
    for (int v = 0; v < 8; ++v)
      sum[v] += a[l] * *reinterpret_cast<const Lanes*>(b + l * 64 + v * lanes);
#pragma GCC unroll 8
  for (int v = 0; v < 8; ++v) *reinterpret_cast<Lanes*>(c + v * lanes) += sum[v];
}

float dot(std::int64_t n, const float* a, const float* b) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// y = a x for a[n, n], four rows at once.
void times(std::int64_t n, const float* a, const float* x, float* y) {
  for (std::int64_t i = 0; i < n; i += 4) {
    const float* row = a + i * n;
    float s = 0, t = 0, u = 0, v = 0;
#pragma omp simd reduction(+ : s, t, u, v)
    for (std::int64_t j = 0; j < n; ++j) {
      s += row[j] * x[j];
      t += row[n + j] * x[j];
      u += row[2 * n + j] * x[j];
      v += row[3 * n + j] * x[j];
    }
    y[i] = s, y[i + 1] = t, y[i + 2] = u, y[i + 3] = v;
  }
}

// out = (x - mean) / deviation * g + b
void normalize(std::int64_t n, const float* x, const float* g, const float* b, float* out) {
  float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += x[i];
  const float mean = sum / static_cast<float>(n);
#pragma omp simd reduction(+ : squares)
  for (std::int64_t i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
  const float factor = 1 / std::sqrt(squares / static_cast<float>(n) + 1e-5F);
  for (std::int64_t i = 0; i < n; ++i) out[i] = (x[i] - mean) * factor * g[i] + b[i];
}

// out[width] = softmax(scale * q . k) v, over n rows of keys and of values.
void attention(std::int64_t n, std::int64_t width, const float* q, const float* k, const float* v,
               float scale, float* w, float* out) {
  float most = -INFINITY, total = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    w[i] = dot(width, q, k + i * width) * scale;
    most = std::max(most, w[i]);
  }
#pragma omp simd reduction(+ : total)
  for (std::int64_t i = 0; i < n; ++i) total += w[i] = exp_of_negative(w[i] - most);
  std::fill(out, out + width, 0.0F);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < width; ++j) out[j] += w[i] * v[i * width + j];
  for (std::int64_t j = 0; j < width; ++j) out[j] /= total;
}

}  // namespace

extern "C" {

void nested_loops(std::int64_t trips, float start, float* last) {
  float v = start;
  for (std::int64_t i = 0; i < trips; ++i)
    for (std::int64_t j = 0; j < trips; ++j) v = v * 0.5F + 1.0F;
  *last = v;
}

/// score'[j] = max over i of score[i] + move[i, j], plus seen[t, j]; from[t, j]: the first such i.
void viterbi(std::int64_t trips, std::int64_t states, const float* seen, const float* move,
             const float* start, float* score, std::int64_t* from) {
  const auto n = static_cast<std::size_t>(states);
  std::vector<float> best(n);
  std::vector<std::int32_t> index(n);
  std::copy(start, start + n, score);
  for (std::int64_t t = 0; t < trips; ++t) {
    std::fill(best.begin(), best.end(), -HUGE_VALF);
    std::fill(index.begin(), index.end(), 0);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        const float x = score[i] + move[i * n + j];
        const bool better = x > best[j];
        best[j] = better ? x : best[j];
        index[j] = better ? static_cast<std::int32_t>(i) : index[j];
      }
    for (std::size_t j = 0; j < n; ++j) {
      score[j] = best[j] + seen[static_cast<std::size_t>(t) * n + j];
      from[static_cast<std::size_t>(t) * n + j] = index[j];
    }
  }
}

void collatz(std::int64_t most, std::int64_t* steps) {
  std::int64_t total = 0;
  for (std::int64_t n = 1; n <= most; ++n)
    for (std::int64_t v = n; v != 1; ++total) v = v % 2 != 0 ? 3 * v + 1 : v / 2;
  *steps = total;
}

void power_iteration(std::int64_t trips, std::int64_t n, const float* a, const float* start,
                     float* x) {
  std::vector<float> y(static_cast<std::size_t>(n));
  std::copy(start, start + n, x);
  for (std::int64_t t = 0; t < trips; ++t) {
    float squares = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t j = 0; j < n; ++j) sum += a[i * n + j] * x[j];
      y[static_cast<std::size_t>(i)] = sum;
      squares += sum * sum;
    }
    const float norm = std::sqrt(squares);
    for (std::int64_t i = 0; i < n; ++i) x[i] = y[static_cast<std::size_t>(i)] / norm;
  }
}

// A state f32[1, 8, t, 64] that grows by a row of each head in each trip. It has room for all
// trips.
void growing_append(std::int64_t trips, const float* query, float* grown) {
  constexpr std::int64_t heads = 8, width = 64;
  for (std::int64_t t = 0; t < trips; ++t)
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t j = 0; j < width; ++j)
        grown[(h * trips + t) * width + j] = query[h * width + j] * static_cast<float>(t);
}

// The same, and the sum of all elements in each trip.
void growing_read(std::int64_t trips, const float* query, float* grown, float* sums) {
  constexpr std::int64_t heads = 8, width = 64;
  for (std::int64_t t = 0; t < trips; ++t) {
    float sum = 0;
    for (std::int64_t h = 0; h < heads; ++h) {
      float* rows = grown + h * trips * width;
      for (std::int64_t j = 0; j < width; ++j)
        rows[t * width + j] = query[h * width + j] * static_cast<float>(t);
#pragma omp simd reduction(+ : sum)
      for (std::int64_t i = 0; i < (t + 1) * width; ++i) sum += rows[i];
    }
    sums[t] = sum;
  }
}

// The attention of one query over caches that grow by a row of each head in each trip: eight heads
// of width 64. The caches have room for all trips.
void growing_cache(std::int64_t trips, const float* query, float* keys, float* values,
                   float* read) {
  constexpr std::int64_t heads = 8, width = 64;
  std::vector<float> weights(static_cast<std::size_t>(trips));
  for (std::int64_t t = 0; t < trips; ++t)
    for (std::int64_t h = 0; h < heads; ++h) {
      const float* q = query + h * width;
      float *k = keys + h * trips * width, *v = values + h * trips * width;
      for (std::int64_t j = 0; j < width; ++j) {
        k[t * width + j] = q[j] * static_cast<float>(t);
        v[t * width + j] = q[j];
      }
      attention(t + 1, width, q, k, v, 1, weights.data(), read + (t * heads + h) * width);
    }
}

// Greedy decoding with a transformer of two layers, d = 128, four heads, 512 words, whose caches
// have room for all trips. weights: one array, in the order in which they are read.
void greedy_decode(std::int64_t most, const float* weights, std::int64_t word, std::int64_t end,
                   std::int64_t* words) {
  constexpr std::int64_t layers = 2, width = 128, heads = 4, part = width / heads, vocabulary = 512;
  const float* next = weights;
  const auto take = [&](std::int64_t n) { return std::exchange(next, next + n); };
  const float *embedding = take(vocabulary * width), *places = take(most * width);
  struct Layer {
    const float *g1, *b1, *q, *k, *v, *o, *g2, *b2, *up, *down;
    std::vector<float> keys, values;
  };
  std::vector<Layer> stack;
  for (std::int64_t l = 0; l < layers; ++l) {
    const float *g1 = take(width), *b1 = take(width);
    const float *q = take(width * width), *k = take(width * width), *v = take(width * width);
    const float *o = take(width * width), *g2 = take(width), *b2 = take(width);
    const float *up = take(4 * width * width), *down = take(4 * width * width);
    const std::vector<float> room(static_cast<std::size_t>(most * width));
    stack.push_back({g1, b1, q, k, v, o, g2, b2, up, down, room, room});
  }
  const float *g = take(width), *b = take(width), *head = take(width * vocabulary);
  std::vector<float> scores(static_cast<std::size_t>(most));
  std::array<float, width> x{}, n{}, q{}, k{}, v{}, mixed{};
  std::array<float, 4 * width> wide{};
  std::array<float, vocabulary> logits{};
  for (std::int64_t t = 0; t < most; ++t) {
    for (std::int64_t i = 0; i < width; ++i)
      x[static_cast<std::size_t>(i)] = embedding[word * width + i] + places[t * width + i];
    for (Layer& layer : stack) {
      normalize(width, x.data(), layer.g1, layer.b1, n.data());
      q.fill(0);
      row_product(width, width, n.data(), layer.q, q.data());
      k.fill(0);
      row_product(width, width, n.data(), layer.k, k.data());
      v.fill(0);
      row_product(width, width, n.data(), layer.v, v.data());
      for (std::int64_t h = 0; h < heads; ++h) {
        float *keys = layer.keys.data() + h * most * part,
              *values = layer.values.data() + h * most * part;
        std::copy_n(k.data() + h * part, part, keys + t * part);
        std::copy_n(v.data() + h * part, part, values + t * part);
        attention(t + 1, part, q.data() + h * part, keys, values, 1 / std::sqrt(float{part}),
                  scores.data(), mixed.data() + h * part);
      }
      row_product(width, width, mixed.data(), layer.o, x.data());
      normalize(width, x.data(), layer.g2, layer.b2, n.data());
      wide.fill(0);
      row_product(width, 4 * width, n.data(), layer.up, wide.data());
      for (float& up : wide) up = std::max(up, 0.0F);
      row_product(4 * width, width, wide.data(), layer.down, x.data());
    }
    normalize(width, x.data(), g, b, n.data());
    logits.fill(0);
    row_product(width, vocabulary, n.data(), head, logits.data());
    word = std::max_element(logits.begin(), logits.end()) - logits.begin();
    words[t] = word;
    if (word == end) break;
  }
}

// Eight element-wise ops on an f32 state.
void elementwise_loop(std::int64_t trips, std::int64_t n, const float* x, const float* a,
                      const float* b, const float* low, const float* high, float* last) {
  std::copy(x, x + n, last);
  for (std::int64_t t = 0; t < trips; ++t)
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
      const float size = std::abs(last[i] * a[i] + b[i] - low[i]), least = low[i], most = high[i];
      const float raised = size < least ? least : size;
      last[i] = -(raised < most ? raised : most) * a[i];
    }
}

// z*z + c, with a count of the trips inside of the circle of radius 2. The elements are
// independent: a block of them makes all its trips in the first-level cache. n is a multiple of the
// block.
void mandelbrot(std::int64_t trips, std::int64_t n, const float* re, const float* im, float* count,
                float* x, float* y) {
  constexpr std::size_t vectors = 32, block = vectors * lanes;
  Lanes c[vectors], d[vectors], p[vectors], q[vectors], k[vectors];
  const Lanes zero{};
  for (const float* end = re + n; re < end;
       re += block, im += block, x += block, y += block, count += block) {
    std::copy_n(reinterpret_cast<const Lanes*>(re), vectors, c);
    std::copy_n(reinterpret_cast<const Lanes*>(im), vectors, d);
    std::fill_n(p, vectors, zero), std::fill_n(q, vectors, zero), std::fill_n(k, vectors, zero);
    for (std::int64_t t = 0; t < trips; ++t)
      for (std::size_t i = 0; i < vectors; ++i) {
        const Lanes a = p[i], b = q[i], aa = a * a, bb = b * b;
        const auto inside = aa + bb < zero + 4;
        p[i] = inside ? aa - bb + c[i] : a;
        q[i] = inside ? a * b * 2 + d[i] : b;
        k[i] += inside ? zero + 1 : zero;
      }
    std::copy_n(p, vectors, reinterpret_cast<Lanes*>(x));
    std::copy_n(q, vectors, reinterpret_cast<Lanes*>(y));
    std::copy_n(k, vectors, reinterpret_cast<Lanes*>(count));
  }
}

// Layers of LSTM cells, from states of zeros; gates in the order i, o, f, c. The input's products
// are computed for all trips at once. w, r [layers, size, 4 size], bias [layers, 4 size].
void lstm(std::int64_t trips, std::int64_t layers, std::int64_t batch, std::int64_t size,
          const float* xs, const float* w, const float* r, const float* bias, float* h, float* c,
          float* hs) {
  const std::int64_t wide = 4 * size, row = batch * size;
  std::vector<float> all(static_cast<std::size_t>(trips * batch * wide));
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    for (std::int64_t i = 0; i < trips * batch; ++i)
      std::copy_n(bias + layer * wide, wide, all.data() + i * wide);
    product(trips * batch, size, wide, layer == 0 ? xs : hs, w + layer * size * wide, all.data());
    std::fill(h, h + row, 0.0F);
    std::fill(c, c + row, 0.0F);
    for (std::int64_t t = 0; t < trips; ++t) {
      float* gates = all.data() + t * batch * wide;
      if (batch == 1) row_product(size, wide, h, r + layer * size * wide, gates);
      else product(batch, size, wide, h, r + layer * size * wide, gates);
      for (std::int64_t b = 0; b < batch; ++b) {
        const float* g = gates + b * wide;
        float *cell = c + b * size, *out = h + b * size;
#pragma omp simd
        for (std::int64_t j = 0; j < size; ++j) {
          cell[j] = sigmoid(g[2 * size + j]) * cell[j] + sigmoid(g[j]) * tanh_of(g[3 * size + j]);
          out[j] = sigmoid(g[size + j]) * tanh_of(cell[j]);
        }
      }
      std::copy(h, h + row, hs + t * row);
    }
  }
}

// a x = b for a positive definite a, until the residual's square is at most `small`.
void conjugate_gradients(std::int64_t most, std::int64_t n, const float* a, const float* b,
                         float small, float* x) {
  std::vector<float> r(b, b + n), p(b, b + n), ap(static_cast<std::size_t>(n));
  std::fill(x, x + n, 0.0F);
  float square = dot(n, b, b);
  for (std::int64_t t = 0; t < most && square > small; ++t) {
    times(n, a, p.data(), ap.data());
    const float alpha = square / dot(n, p.data(), ap.data());
    for (std::size_t i = 0; i < r.size(); ++i) {
      x[i] += alpha * p[i];
      r[i] -= alpha * ap[i];
    }
    const float next = dot(n, r.data(), r.data());
    for (std::size_t i = 0; i < r.size(); ++i) p[i] = r[i] + next / square * p[i];
    square = next;
  }
}

// The classical Runge-Kutta method on x' = tanh(x w1 + b1) w2 + b2, x in R^64.
void runge_kutta(std::int64_t trips, float step, const float* start, const float* w1,
                 const float* b1, const float* w2, const float* b2, float* x) {
  constexpr std::int64_t n = 64;
  std::array<float, n> hidden{}, at{}, slope{}, sum{};
  std::copy(start, start + n, x);
  for (std::int64_t t = 0; t < trips; ++t) {
    sum.fill(0);
    slope.fill(0);
    for (int stage = 0; stage < 4; ++stage) {
      const float ahead = stage == 0 ? 0 : stage == 3 ? step : step / 2;
      for (std::size_t i = 0; i < n; ++i) at[i] = x[i] + ahead * slope[i];
      std::copy_n(b1, n, hidden.begin());
      row_product_64(n, at.data(), w1, hidden.data());
      for (float& v : hidden) v = tanh_of(v);
      std::copy_n(b2, n, slope.begin());
      row_product_64(n, hidden.data(), w2, slope.data());
      const float weight = stage == 0 || stage == 3 ? 1 : 2;
      for (std::size_t i = 0; i < n; ++i) sum[i] += weight * slope[i];
    }
    for (std::size_t i = 0; i < n; ++i) x[i] += step / 6 * sum[i];
  }
}

// Items 0, 1, ..., lengths[t] - 1, plus the trip.
void range_items(std::int64_t trips, const std::int64_t* lengths, std::int64_t* items) {
  for (std::int64_t t = 0; t < trips; ++t)
    for (std::int64_t i = 0; i < lengths[t]; ++i) *items++ = i + t;
}

// h = a h + b x and y = sum of c h, for 256 channels with 16 states each.
void selective_scan(std::int64_t trips, const float* a, const float* xs, const float* bs,
                    const float* cs, float* h, float* ys) {
  constexpr std::int64_t channels = 256, states = 16;
  std::fill(h, h + channels * states, 0.0F);
  for (std::int64_t t = 0; t < trips; ++t)
    for (std::int64_t d = 0; d < channels; ++d) {
      const float x = xs[t * channels + d];
      float y = 0;
#pragma omp simd reduction(+ : y)
      for (std::int64_t k = 0; k < states; ++k) {
        float& state = h[d * states + k];
        state = a[d * states + k] * state + bs[t * states + k] * x;
        y += cs[t * states + k] * state;
      }
      ys[t * channels + d] = y;
    }
}

// tanh of a 3x3 convolution of 16 channels of 16x16, with a border of zeros.
void conv_loop(std::int64_t trips, const float* start, const float* kernel, const float* bias,
               float* x) {
  constexpr std::int64_t maps = 16, side = 16, wide = side + 2, group = 4;
  std::vector<float> padded(maps * wide * wide);
  std::copy(start, start + maps * side * side, x);
  for (std::int64_t t = 0; t < trips; ++t) {
    for (std::int64_t m = 0; m < maps; ++m)
      for (std::int64_t i = 0; i < side; ++i)
        std::copy_n(x + (m * side + i) * side, side, padded.data() + (m * wide + i + 1) * wide + 1);
    for (std::int64_t o = 0; o < maps; o += group)
      for (std::int64_t i = 0; i < side; ++i) {
        Lanes sum[group][2];
#pragma GCC unroll 4
        for (std::int64_t g = 0; g < group; ++g) sum[g][0] = sum[g][1] = Lanes{} + bias[o + g];
        for (std::int64_t m = 0; m < maps; ++m)
#pragma GCC unroll 9
          for (std::int64_t k = 0; k < 9; ++k) {
            const float* row = padded.data() + (m * wide + i + k / 3) * wide + k % 3;
            const Lanes left = *reinterpret_cast<const Lanes*>(row);
            const Lanes right = *reinterpret_cast<const Lanes*>(row + lanes);
#pragma GCC unroll 4
            for (std::int64_t g = 0; g < group; ++g) {
              const float weight = kernel[((o + g) * maps + m) * 9 + k];
              sum[g][0] += weight * left;
              sum[g][1] += weight * right;
            }
          }
#pragma GCC unroll 4
        for (std::int64_t g = 0; g < group; ++g) {
          Lanes* out = reinterpret_cast<Lanes*>(x + ((o + g) * side + i) * side);
          out[0] = sum[g][0];
          out[1] = sum[g][1];
        }
      }
    for (std::int64_t i = 0; i < maps * side * side; ++i) x[i] = tanh_of(x[i]);
  }
}

void softmax_loop(std::int64_t trips, const float* start, float* x) {
  constexpr std::int64_t rows = 8, width = 128;
  std::copy(start, start + rows * width, x);
  std::array<float, width> e{};
  for (std::int64_t t = 0; t < trips; ++t)
    for (std::int64_t i = 0; i < rows; ++i) {
      float *row = x + i * width, most = row[0], total = 0;
#pragma omp simd reduction(max : most)
      for (std::int64_t j = 0; j < width; ++j) most = std::max(most, row[j]);
#pragma omp simd reduction(+ : total)
      for (std::size_t j = 0; j < width; ++j) total += e[j] = exp_of_negative(row[j] - most);
      for (std::size_t j = 0; j < width; ++j) row[j] += e[j] / total;
    }
}

// cos(x), plus a thousandth of the sum of the ten largest of 1,000.
void top_k_loop(std::int64_t trips, const float* start, float* x) {
  constexpr std::int64_t n = 1000, k = 10;
  std::copy(start, start + n, x);
  std::array<float, k> best{};
  for (std::int64_t t = 0; t < trips; ++t) {
    std::partial_sort_copy(x, x + n, best.begin(), best.end(), std::greater<>());
    const float more = std::accumulate(best.begin(), best.end(), 0.0F) * 0.001F;
    for (std::int64_t i = 0; i < n; ++i) x[i] = more + cos_of(x[i]);
  }
}

// The bookkeeping of a beam search without its network: four beams, fifty words.
void beam_search(std::int64_t trips, const float* table, std::int64_t eos, float* scores,
                 std::int64_t* last, std::int64_t* ended, std::int64_t* parents) {
  constexpr int beams = 4, words = 50;
  std::array<float, beams> score{0, -9, -9, -9};
  std::array<std::int64_t, beams> token{1, 2, 3, 4};
  std::int64_t count = 0;
  std::array<float, beams * words> sums{};
  std::array<int, beams * words> order{};
  for (std::int64_t t = 0; t < trips; ++t) {
    for (int b = 0; b < beams; ++b)
      for (int w = 0; w < words; ++w)
        sums[static_cast<std::size_t>(b * words + w)] =
            score[static_cast<std::size_t>(b)] +
            table[token[static_cast<std::size_t>(b)] % 3 * words + w];
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + beams, order.end(), [&](int a, int b) {
      const float x = sums[static_cast<std::size_t>(a)], y = sums[static_cast<std::size_t>(b)];
      return x > y || (x == y && a < b);
    });
    std::array<float, beams> best{};
    std::array<std::int64_t, beams> word{}, from{};
    std::int64_t found = 0;
    for (std::size_t b = 0; b < beams; ++b) {
      best[b] = sums[static_cast<std::size_t>(order[b])];
      from[b] = order[b] / words;
      word[b] = order[b] % words;
      found += word[b] == eos ? 1 : 0;
    }
    std::copy(from.begin(), from.end(), parents + t * beams);
    if (found > 0) {
      const std::int64_t total = count + found;
      if (total > 3) {
        for (std::size_t b = 0; b < beams; ++b) best[b] *= 0.5F;
        std::array<std::int64_t, beams> chosen{};
        for (std::size_t b = 0; b < beams; ++b)
          chosen[b] = token[static_cast<std::size_t>(from[b])];
        token = chosen;
      } else {
        for (std::size_t b = 0; b < beams; ++b)
          if (word[b] == eos) best[b] = score[b];
        token = word;
      }
      count = total;
    } else {
      token = word;
    }
    score = best;
  }
  std::copy(score.begin(), score.end(), scores);
  std::copy(token.begin(), token.end(), last);
  *ended = count;
}
}
