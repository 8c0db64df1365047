#include "query/kernels/range_aggregates.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/status.h"
#include "query/columns/elements.h"
#include "query/kernels/number_rules.h"
#include "query/kernels/type_rules.h"

namespace tickstack::query {
namespace {

constexpr std::pair<std::string_view, RangeKind> kRangeKinds[] = {
    {"count", RangeKind::kCount}, {"first", RangeKind::kFirst}, {"last", RangeKind::kLast},
    {"max", RangeKind::kMax},     {"min", RangeKind::kMin},     {"sum", RangeKind::kSum},
    {"avg", RangeKind::kAvg},
};

bool IsWideNumber(Type type) {
  return IsFixedWidth(type) && type != Type::kGuid && WidthOf(type) > 1;
}

// Folds ranges of items with an operation for which order does not matter.
template <typename D, typename Op>
class RangeFold {
 public:
  RangeFold(ScratchVector<D> items, D identity, Op op)
      : size_(items.size()), identity_(identity), op_(op), items_(std::move(items)) {}

  absl::Status Prepare(std::span<const ItemRange> ranges, Budget& budget) {
    uint64_t together = 0;
    for (const ItemRange& range : ranges) together += range.end - range.begin;
    if (together <= 4 * size_ + 16 * ranges.size()) return absl::OkStatus();
    // Block i consists of blocks 2i and 2i+1; the items are blocks size_ to 2 * size_ - 1.
    TS_RETURN_IF_ERROR(budget.Charge(2 * size_, sizeof(D)));
    blocks_.resize(2 * size_);
    std::ranges::copy(items_, blocks_.begin() + static_cast<ptrdiff_t>(size_));
    for (size_t i = size_ - 1; i > 0; --i) blocks_[i] = op_(blocks_[2 * i], blocks_[2 * i + 1]);
    return absl::OkStatus();
  }

  D Of(const ItemRange& range) const {
    D folded = identity_;
    if (blocks_.empty()) {
      for (size_t i = range.begin; i < range.end; ++i) folded = op_(folded, items_[i]);
      return folded;
    }
    size_t begin = size_ + range.begin, end = size_ + range.end;
    for (; begin < end; begin /= 2, end /= 2) {
      if (begin % 2 != 0) folded = op_(folded, blocks_[begin++]);
      if (end % 2 != 0) folded = op_(folded, blocks_[--end]);
    }
    return folded;
  }

 private:
  const size_t size_;
  const D identity_;
  const Op op_;
  const ScratchVector<D> items_;
  ScratchVector<D> blocks_;
};

// Returns the elements in the domain D, with `null` in place of nulls.
template <typename D>
absl::StatusOr<ScratchVector<D>> Widened(const Value& items, D null, Budget& budget) {
  TS_RETURN_IF_ERROR(budget.Charge(items.count(), sizeof(D)));
  ScratchVector<D> wide;
  wide.reserve(items.count());
  VisitElementType(items.type(), [&]<typename T>(std::type_identity<T>) {
    if constexpr (!std::is_same_v<T, Guid>) {
      for (const T& element : items.span<T>()) {
        wide.push_back(IsNullElement(items.type(), element) ? null : static_cast<D>(element));
      }
    }
  });
  return wide;
}

// Returns the fold of each range as an element of `type`.
template <typename D, typename Op>
absl::StatusOr<Value> FoldRanges(Type type, const Value& items, std::span<const ItemRange> ranges,
                                 D identity, Op op, Budget& budget) {
  TS_ASSIGN_OR_RETURN(ScratchVector<D> wide, Widened<D>(items, identity, budget));
  RangeFold<D, Op> fold(std::move(wide), identity, op);
  TS_RETURN_IF_ERROR(fold.Prepare(ranges, budget));
  TS_RETURN_IF_ERROR(budget.Charge(ranges.size(), WidthOf(type)));
  return VisitElementType(type, [&]<typename T>(std::type_identity<T>) -> absl::StatusOr<Value> {
    if constexpr (std::is_same_v<T, Guid>) {
      return NullOf(type);  // Folds never have such a type.
    } else {
      VectorWriter<T> out(type, ranges.size());
      for (size_t i = 0; i < ranges.size(); ++i) {
        if (i % 65536 == 0) TS_RETURN_IF_ERROR(budget.CheckTime());
        out.data()[i] = static_cast<T>(fold.Of(ranges[i]));
      }
      return std::move(out).Finish();
    }
  });
}

absl::StatusOr<Value> Extremes(RangeKind kind, const Value& items,
                               std::span<const ItemRange> ranges, Budget& budget) {
  const auto fold = [&]<typename D>(D least, D greatest) {
    return kind == RangeKind::kMax ? FoldRanges<D>(
                                         items.type(), items, ranges, least,
                                         [](D a, D b) { return a < b ? b : a; }, budget)
                                   : FoldRanges<D>(
                                         items.type(), items, ranges, greatest,
                                         [](D a, D b) { return b < a ? b : a; }, budget);
  };
  return VisitElementType(items.type(),
                          [&]<typename T>(std::type_identity<T>) -> absl::StatusOr<Value> {
                            if constexpr (std::is_same_v<T, Guid>) {
                              return NullOf(items.type());
                            } else if constexpr (std::is_floating_point_v<T>) {
                              return fold(double{MinusInfinity<T>()}, double{PlusInfinity<T>()});
                            } else {
                              return fold(int64_t{MinusInfinity<T>()}, int64_t{PlusInfinity<T>()});
                            }
                          });
}

absl::StatusOr<Value> RangeSums(Type type, const Value& items, std::span<const ItemRange> ranges,
                                Budget& budget) {
  const auto add = [](auto a, auto b) { return a + b; };
  if (IsFloating(items.type()) || IsFloating(type)) {
    return FoldRanges<double>(type, items, ranges, 0.0, add, budget);
  }
  // Unsigned, because sums may wrap.
  return FoldRanges<uint64_t>(type, items, ranges, uint64_t{0}, add, budget);
}

// Returns how many items before each are not null.
absl::StatusOr<ScratchVector<uint32_t>> RunningCounts(const Value& items, Budget& budget) {
  TS_RETURN_IF_ERROR(budget.Charge(items.count() + 1, sizeof(uint32_t)));
  ScratchVector<uint32_t> counts;
  counts.reserve(items.count() + 1);
  counts.push_back(0);
  VisitElementType(items.type(), [&]<typename T>(std::type_identity<T>) {
    for (const T& element : items.span<T>()) {
      counts.push_back(counts.back() + (IsNullElement(items.type(), element) ? 0 : 1));
    }
  });
  return counts;
}

absl::StatusOr<Value> Averages(const Value& items, std::span<const ItemRange> ranges,
                               Budget& budget) {
  TS_ASSIGN_OR_RETURN(Value sums, RangeSums(Type::kFloat, items, ranges, budget));
  TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> counts, RunningCounts(items, budget));
  auto* const sum = reinterpret_cast<double*>(MutableElements(sums).data());
  for (size_t i = 0; i < ranges.size(); ++i) {
    const uint32_t n = counts[ranges[i].end] - counts[ranges[i].begin];
    const double mean = sum[i] / n;
    sum[i] = n == 0 || mean != mean ? NullElement<double>(Type::kFloat) : mean;
  }
  return sums;
}

absl::StatusOr<Value> Ends(RangeKind kind, const Value& items, std::span<const ItemRange> ranges,
                           Budget& budget) {
  TS_RETURN_IF_ERROR(budget.Charge(ranges.size(), sizeof(uint32_t) + 16));
  ScratchVector<uint32_t> at(ranges.size(), kNoItem);
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].begin == ranges[i].end) continue;
    at[i] = kind == RangeKind::kFirst ? ranges[i].begin : ranges[i].end - 1;
  }
  return TakeItems(items, at);
}

absl::StatusOr<Value> Counts(std::span<const ItemRange> ranges, Budget& budget) {
  TS_RETURN_IF_ERROR(budget.Charge(ranges.size(), sizeof(int64_t)));
  VectorWriter<int64_t> out(Type::kLong, ranges.size());
  std::ranges::transform(ranges, out.data(), [](const ItemRange& range) {
    return int64_t{range.end} - int64_t{range.begin};
  });
  return std::move(out).Finish();
}

}  // namespace

std::optional<RangeKind> RangeKindOf(std::string_view function, Type type) {
  const auto* const found =
      std::ranges::find(kRangeKinds, function, &std::pair<std::string_view, RangeKind>::first);
  if (found == std::end(kRangeKinds)) return std::nullopt;
  switch (found->second) {
    case RangeKind::kCount:
      return found->second;
    case RangeKind::kFirst:
    case RangeKind::kLast:
      return type == Type::kList ? std::nullopt : std::optional(found->second);
    case RangeKind::kSum:
      return IsWideNumber(type) && SumType(type).has_value() ? std::optional(found->second)
                                                             : std::nullopt;
    case RangeKind::kMax:
    case RangeKind::kMin:
    case RangeKind::kAvg:
      break;
  }
  return IsWideNumber(type) ? std::optional(found->second) : std::nullopt;
}

absl::StatusOr<Value> AggregateRanges(RangeKind kind, const Value& items,
                                      std::span<const ItemRange> ranges, Budget& budget) {
  switch (kind) {
    case RangeKind::kCount:
      return Counts(ranges, budget);
    case RangeKind::kFirst:
    case RangeKind::kLast:
      return Ends(kind, items, ranges, budget);
    case RangeKind::kMax:
    case RangeKind::kMin:
      return Extremes(kind, items, ranges, budget);
    case RangeKind::kSum:
      return RangeSums(*SumType(items.type()), items, ranges, budget);
    case RangeKind::kAvg:
      return Averages(items, ranges, budget);
  }
  return Counts(ranges, budget);
}

}  // namespace tickstack::query
