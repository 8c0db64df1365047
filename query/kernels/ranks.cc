#include "query/kernels/ranks.h"

#include "query/columns/elements.h"
#include "query/kernels/sort.h"

namespace tickstack::query {
namespace {

// Makes a vector of f(rank) for each item.
template <typename F>
absl::StatusOr<Value> MapRanks(const Slice& slice, Budget& budget, F f) {
  TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> order,
                      Grade(std::span(&slice, 1), Direction::kAscending, budget));
  TS_RETURN_IF_ERROR(budget.Charge(order.size(), sizeof(int64_t)));
  VectorWriter<int64_t> out(Type::kLong, order.size());
  for (size_t rank = 0; rank < order.size(); ++rank) {
    out.data()[order[rank]] = f(static_cast<int64_t>(rank));
  }
  return std::move(out).Finish();
}

}  // namespace

absl::StatusOr<Value> Ranks(const Slice& slice, Budget& budget) {
  return MapRanks(slice, budget, [](int64_t rank) { return rank; });
}

absl::StatusOr<Value> Buckets(int64_t buckets, const Slice& slice, Budget& budget) {
  const auto n = static_cast<__int128>(slice.count());
  return MapRanks(slice, budget, [&](int64_t rank) {
    const __int128 shares = static_cast<__int128>(buckets) * rank;  // In units of 1/n.
    return static_cast<int64_t>(shares / n - (shares % n < 0 ? 1 : 0));
  });
}

}  // namespace tickstack::query
