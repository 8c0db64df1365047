#pragma once

// Two columns of numbers, read side by side as floats: what weighted aggregates are made of.

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "absl/status/status.h"
#include "query/columns/budget.h"
#include "query/columns/column.h"

namespace tickstack::query {

// boolean, byte, short, int, long, real, float.
bool ReadsAsFloats(Type type);

// Items [begin, begin + out.size()) of a slice of such a type; nulls as NaN.
absl::Status ReadFloats(const Slice& slice, size_t begin, std::span<double> out,
                        const Budget& budget);

// Calls f(i, weight, value) for items [begin, end) of both, which are of such types: in blocks that
// stay in the first-level cache. A task of a parallel step may call it.
template <typename F>
absl::Status ForEachFloatPair(const Slice& weights, const Slice& values, size_t begin, size_t end,
                              const Budget& budget, F f) {
  constexpr size_t kBlock = 1024;
  std::array<double, kBlock> weight, value;
  for (size_t at = begin; at < end; at += kBlock) {
    const size_t n = std::min(kBlock, end - at);
    TS_RETURN_IF_ERROR(ReadFloats(weights, at, std::span(weight).first(n), budget));
    TS_RETURN_IF_ERROR(ReadFloats(values, at, std::span(value).first(n), budget));
    for (size_t i = 0; i < n; ++i) f(at + i, weight[i], value[i]);
  }
  return absl::OkStatus();
}

}  // namespace tickstack::query
