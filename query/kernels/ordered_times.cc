#include "query/kernels/ordered_times.h"

#include <numeric>
#include <utility>

#include "query/columns/errors.h"

namespace tickstack::query {

absl::Status CheckTimeType(Type type) {
  if (IsFixedWidth(type) && type != Type::kGuid) return absl::OkStatus();
  return TypeError("as of a column of {}", NameOf(type));
}

absl::StatusOr<ScratchVector<int64_t>> OrderedTimes(const Slice& slice, const Budget& budget) {
  ScratchVector<int64_t> times;
  times.reserve(slice.count());
  TS_RETURN_IF_ERROR(
      VisitElementType(slice.type(), [&]<typename T>(std::type_identity<T>) -> absl::Status {
        if constexpr (std::is_same_v<T, Guid>) {
          return CheckTimeType(Type::kGuid);
        } else {
          return ForEachBlock<T>(slice, budget, [&](const Block<T>& block) {
            for (T time : block.elements) times.push_back(OrderedTime(time));
          });
        }
      }));
  return times;
}

TimedRows TimedRows::Pick(std::span<const uint32_t> positions, std::span<const int64_t> times) {
  TimedRows picked;
  picked.rows.assign(positions.begin(), positions.end());
  picked.times.reserve(positions.size());
  for (uint32_t at : positions) picked.times.push_back(times[at]);
  picked.Sort();
  return picked;
}

void TimedRows::Sort() {
  if (std::ranges::is_sorted(times)) return;
  ScratchVector<uint32_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {}, [&](uint32_t i) { return std::pair(times[i], i); });
  TimedRows sorted;
  sorted.rows.reserve(rows.size());
  sorted.times.reserve(rows.size());
  for (uint32_t i : order) {
    sorted.rows.push_back(rows[i]);
    sorted.times.push_back(times[i]);
  }
  *this = std::move(sorted);
}

}  // namespace tickstack::query
