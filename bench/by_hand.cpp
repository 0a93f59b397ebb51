// Workloads written by hand in C++: the reference for loops that no runtime runs well.
// harness.py compiles this file with -O3 for the machine it runs on.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
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

// The attention of one query over caches that grow by a row of each head in each trip: eight heads
// of width 64. The caches have room for all trips.
void growing_cache(std::int64_t trips, const float* query, float* keys, float* values,
                   float* read) {
  constexpr std::int64_t heads = 8, width = 64;
  std::vector<float> weights(static_cast<std::size_t>(trips));
  float* w = weights.data();
  for (std::int64_t t = 0; t < trips; ++t)
    for (std::int64_t h = 0; h < heads; ++h) {
      const float* q = query + h * width;
      float *k = keys + h * trips * width, *v = values + h * trips * width;
      for (std::int64_t j = 0; j < width; ++j) {
        k[t * width + j] = q[j] * static_cast<float>(t);
        v[t * width + j] = q[j];
      }
      float most = -INFINITY, total = 0;
      for (std::int64_t i = 0; i <= t; ++i) {
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (std::int64_t j = 0; j < width; ++j) sum += q[j] * k[i * width + j];
        w[i] = sum;
        most = std::max(most, sum);
      }
#pragma omp simd reduction(+ : total)
      for (std::int64_t i = 0; i <= t; ++i) total += w[i] = exp_of_negative(w[i] - most);
      std::array<float, width> out{};
      for (std::int64_t i = 0; i <= t; ++i)
        for (std::int64_t j = 0; j < width; ++j)
          out[static_cast<std::size_t>(j)] += w[i] * v[i * width + j];
      for (std::int64_t j = 0; j < width; ++j)
        read[(t * heads + h) * width + j] = out[static_cast<std::size_t>(j)] / total;
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
