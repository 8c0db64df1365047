#include "query/kernels/time_blocks.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

#include "query/kernels/temporal.h"

namespace tickstack::query {

absl::Status ForEachTimeBlock(const Slice& slice, Budget& budget,
                              absl::FunctionRef<void(std::span<const int64_t>)> f) {
  constexpr size_t kBlock = 1024;
  std::array<int64_t, kBlock> times;
  const Type type = slice.type();
  return VisitElementType(type, [&]<typename T>(std::type_identity<T>) -> absl::Status {
    if constexpr (sizeof(T) < sizeof(int32_t) || sizeof(T) > sizeof(int64_t)) {
      return absl::OkStatus();  // Times never have such a width.
    } else {
      return ForEachBlock<T>(slice, budget, [&](const Block<T>& block) {
        for (size_t at = 0; at < block.elements.size(); at += kBlock) {
          const std::span<const T> part =
              block.elements.subspan(at, std::min(kBlock, block.elements.size() - at));
          for (size_t i = 0; i < part.size(); ++i) {
            if constexpr (std::is_floating_point_v<T>) {
              times[i] = LongOf(double{part[i]} * static_cast<double>(kNsPerDay));
            } else {
              times[i] = IsNullElement(type, part[i]) ? kNullLong : ToNs(type, part[i]);
            }
          }
          f(std::span<const int64_t>(times.data(), part.size()));
        }
      });
    }
  });
}

}  // namespace tickstack::query
