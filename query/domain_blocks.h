#pragma once

// Columns of numbers block by block in one of two domains, int64 or double, and vectors of a type
// out of such blocks: so a function of columns is written for two types of element, not for 17.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "query/budget.h"
#include "query/column.h"
#include "query/elements.h"
#include "query/temporal.h"

namespace tickstack::query {

inline bool IsNullInDomain(int64_t value) { return value == kNullLong; }
inline bool IsNullInDomain(double value) { return std::isnan(value); }

// Stores a domain's values in a type: nulls as its null, integers cut to its width, floats rounded
// to integers.
template <typename T, typename D>
void StoreBlock(Type type, const D* from, T* to, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    if (IsNullInDomain(from[i])) {
      to[i] = NullElement<T>(type);
    } else if constexpr (std::is_same_v<D, double> && !std::is_floating_point_v<T>) {
      to[i] = static_cast<T>(LongOf(from[i]));
    } else {
      to[i] = static_cast<T>(from[i]);
    }
  }
}

// Calls f(std::span<D>) with blocks of the slice's items in order; f may change the block.
// Booleans, bytes and chars are never null here. Nothing is called for what is not of fixed width,
// or a guid.
template <typename D, typename F>
absl::Status ForEachDomainBlock(const Slice& slice, Budget& budget, F f) {
  constexpr size_t kBlock = 1024;
  std::array<D, kBlock> domain;
  const Type type = slice.type();
  if (!IsFixedWidth(type)) return absl::OkStatus();
  return VisitElementType(type, [&]<typename T>(std::type_identity<T>) -> absl::Status {
    if constexpr (std::is_same_v<T, Guid>) {
      return absl::OkStatus();
    } else {
      return ForEachBlock<T>(slice, budget, [&](const Block<T>& block) {
        for (size_t at = 0; at < block.elements.size(); at += kBlock) {
          const std::span<const T> part =
              block.elements.subspan(at, std::min(kBlock, block.elements.size() - at));
          for (size_t i = 0; i < part.size(); ++i) {
            const bool null = !std::is_same_v<T, uint8_t> && IsNullElement(type, part[i]);
            domain[i] = null ? NullElement<D>(Type::kLong) : static_cast<D>(part[i]);
          }
          f(std::span<D>(domain.data(), part.size()));
        }
      });
    }
  });
}

// A column mapped through f(std::span<D>), which changes blocks in place, into a vector of `type`.
template <typename D, typename F>
absl::StatusOr<Value> MapInDomain(const Slice& slice, Type type, Budget& budget, F f) {
  TS_RETURN_IF_ERROR(budget.Charge(slice.count(), WidthOf(type)));
  return VisitElementType(type, [&]<typename T>(std::type_identity<T>) -> absl::StatusOr<Value> {
    if constexpr (std::is_same_v<T, Guid>) {
      return EmptyVector(type);  // No result of a domain is one.
    } else {
      VectorWriter<T> out(type, slice.count());
      T* at = out.data();
      TS_RETURN_IF_ERROR(ForEachDomainBlock<D>(slice, budget, [&](std::span<D> block) {
        f(block);
        StoreBlock(type, block.data(), at, block.size());
        at += block.size();
      }));
      return std::move(out).Finish();
    }
  });
}

}  // namespace tickstack::query
