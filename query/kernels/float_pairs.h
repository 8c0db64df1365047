#pragma once

// Reads two columns of numbers side by side as floats, for weighted aggregates.

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "absl/status/status.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"

namespace tickstack::query {

// True for boolean, byte, short, int, long, real and float.
bool ReadsAsFloats(Type type);

// Reads items [begin, begin + out.size()) of a slice as floats, with NaN for a null. The slice must
// have a type for which ReadsAsFloats is true.
absl::Status ReadFloats(const Slice& slice, size_t begin, std::span<double> out,
                        const Budget& budget);

// Calls f(position, weights, values) for blocks of items [begin, end) of both slices; `position` is
// that of the block's first item. Blocks stay in the first-level cache. Both slices must have types
// for which ReadsAsFloats is true. A task of a parallel step may call it.
template <typename F>
absl::Status ForEachFloatPairBlock(const Slice& weights, const Slice& values, size_t begin,
                                   size_t end, const Budget& budget, F f) {
  constexpr size_t kBlock = 1024;
  std::array<double, kBlock> weight, value;
  for (size_t at = begin; at < end; at += kBlock) {
    const size_t n = std::min(kBlock, end - at);
    TS_RETURN_IF_ERROR(ReadFloats(weights, at, std::span(weight).first(n), budget));
    TS_RETURN_IF_ERROR(ReadFloats(values, at, std::span(value).first(n), budget));
    f(at, std::span<const double>(weight).first(n), std::span<const double>(value).first(n));
  }
  return absl::OkStatus();
}

// Calls f(i, weight, value) for items [begin, end). Otherwise like ForEachFloatPairBlock.
template <typename F>
absl::Status ForEachFloatPair(const Slice& weights, const Slice& values, size_t begin, size_t end,
                              const Budget& budget, F f) {
  return ForEachFloatPairBlock(
      weights, values, begin, end, budget,
      [&](size_t at, std::span<const double> weight, std::span<const double> value) {
        for (size_t i = 0; i < weight.size(); ++i) f(at + i, weight[i], value[i]);
      });
}

}  // namespace tickstack::query
