#include "query/kernels/running.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "query/columns/errors.h"
#include "query/columns/gather.h"
#include "query/kernels/atomic.h"
#include "query/kernels/domain_blocks.h"
#include "query/kernels/type_rules.h"

namespace tickstack::query {
namespace {

// Of a list: each item by f(item, what stands before it), the first as it is.
template <typename F>
absl::StatusOr<Value> MapList(const Slice& slice, Budget& budget, F f) {
  TS_ASSIGN_OR_RETURN(const Value list, Materialise(slice, budget));
  TS_RETURN_IF_ERROR(budget.ChargeItems(list.count()));
  std::vector<Value> results;
  for (size_t i = 0; i < list.count(); ++i) {
    TS_RETURN_IF_ERROR(budget.CheckTime());
    if (i == 0) {
      results.push_back(ItemAt(list, 0));
      continue;
    }
    TS_ASSIGN_OR_RETURN(Value next, f(ItemAt(list, i), results.back(), ItemAt(list, i - 1)));
    results.push_back(std::move(next));
  }
  return Collapse(std::move(results));
}

absl::StatusOr<Value> RunOverList(AtomicOp op, const Slice& slice, Budget& budget) {
  return MapList(slice, budget, [&](const Value& item, const Value& so_far, const Value&) {
    return ApplyAtomic(op, so_far, item, budget);
  });
}

absl::StatusOr<Value> PairList(AtomicOp op, const Slice& slice, Budget& budget) {
  return MapList(slice, budget, [&](const Value& item, const Value&, const Value& before) {
    return ApplyAtomic(op, item, before, budget);
  });
}

// Runs `state = f(state, item)` over the items.
template <typename D, typename F>
absl::StatusOr<Value> Fold(const Slice& slice, Type type, Budget& budget, D state, F f) {
  return MapInDomain<D>(slice, type, budget, [&](std::span<D> block) {
    for (D& item : block) item = state = f(state, item);
  });
}

// Answers f(item, item before) for each; `first` stands before the first one.
template <typename D, typename F>
absl::StatusOr<Value> Pairs(const Slice& slice, Type type, Budget& budget, D first, F f) {
  D before = first;
  return MapInDomain<D>(slice, type, budget, [&](std::span<D> block) {
    for (D& item : block) item = f(item, std::exchange(before, item));
  });
}

int64_t WrappingSum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
double WrappingSum(double a, double b) { return a + b; }
int64_t WrappingProduct(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
double WrappingProduct(double a, double b) { return a * b; }

// Calls f(D{}) with the domain of a type.
template <typename F>
absl::StatusOr<Value> InDomainOf(Type type, F f) {
  return IsFloating(type) ? f(double{}) : f(int64_t{});
}

absl::StatusOr<Type> RequireType(std::string_view name, std::optional<Type> result, Type type) {
  if (!result.has_value()) return TypeError("{} of {}", name, NameOf(type));
  return *result;
}

// Where a running maximum begins, in the domain of its type; minus it for a minimum.
template <typename D>
D MinusInfinity(Type type) {
  if constexpr (std::is_same_v<D, double>) {
    return -std::numeric_limits<double>::infinity();
  } else {
    switch (WidthOf(type)) {
      case 1:
        return 0;
      case 2:
        return -kInfinityShort;
      case 4:
        return -kInfinityInt;
      default:
        return -kInfinityLong;
    }
  }
}
template <typename D>
D PlusInfinity(Type type) {
  if (WidthOf(type) == 1) return D{UINT8_MAX};
  return -MinusInfinity<D>(type);
}

absl::Status CheckSortable(std::string_view name, Type type) {
  if (IsFixedWidth(type) && type != Type::kGuid) return absl::OkStatus();
  return TypeError("{} of {}", name, NameOf(type));
}

absl::StatusOr<Value> Shifted(const Slice& slice, bool back, Budget& budget) {
  const size_t n = slice.count();
  TS_RETURN_IF_ERROR(budget.Charge(n, 2 * sizeof(uint32_t)));
  ScratchVector<uint32_t> rows = slice.rows->ToVector();
  if (n > 0 && back) {
    std::ranges::copy_backward(rows.begin(), rows.end() - 1, rows.end());
    rows.front() = kNoItem;
  } else if (n > 0) {
    std::ranges::copy(rows.begin() + 1, rows.end(), rows.begin());
    rows.back() = kNoItem;
  }
  return GatherRows(slice.column, rows, budget);
}

}  // namespace

absl::StatusOr<Value> Sums(const Slice& slice, Budget& budget) {
  const Type type = slice.type();
  if (type == Type::kList) return RunOverList(AtomicOp::kAdd, slice, budget);
  TS_ASSIGN_OR_RETURN(const Type result, RequireType("sums", SumType(type), type));
  return InDomainOf(type, [&]<typename D>(D) {
    return Fold(slice, result, budget, D{0},
                [](D sum, D item) { return IsNullInDomain(item) ? sum : WrappingSum(sum, item); });
  });
}

absl::StatusOr<Value> Products(const Slice& slice, Budget& budget) {
  const Type type = slice.type();
  if (type == Type::kList) return RunOverList(AtomicOp::kMultiply, slice, budget);
  TS_ASSIGN_OR_RETURN(const Type result, RequireType("prds", SumType(type), type));
  return InDomainOf(type, [&]<typename D>(D) {
    return Fold(slice, result, budget, D{1}, [](D product, D item) {
      return IsNullInDomain(item) ? product : WrappingProduct(product, item);
    });
  });
}

absl::StatusOr<Value> RunningMax(const Slice& slice, Budget& budget) {
  const Type type = slice.type();
  if (type == Type::kList) return RunOverList(AtomicOp::kGreater, slice, budget);
  TS_RETURN_IF_ERROR(CheckSortable("maxs", type));
  return InDomainOf(type, [&]<typename D>(D) {
    return Fold(slice, type, budget, MinusInfinity<D>(type),
                [](D best, D item) { return item > best ? item : best; });
  });
}

absl::StatusOr<Value> RunningMin(const Slice& slice, Budget& budget) {
  const Type type = slice.type();
  if (type == Type::kList) return RunOverList(AtomicOp::kLesser, slice, budget);
  TS_RETURN_IF_ERROR(CheckSortable("mins", type));
  return InDomainOf(type, [&]<typename D>(D) {
    return Fold(slice, type, budget, PlusInfinity<D>(type),
                [](D best, D item) { return !IsNullInDomain(item) && item < best ? item : best; });
  });
}

absl::StatusOr<Value> Deltas(const Slice& slice, Budget& budget) {
  const Type type = slice.type();
  if (type == Type::kList) return PairList(AtomicOp::kSubtract, slice, budget);
  TS_ASSIGN_OR_RETURN(const Type result, RequireType("deltas", DeltasType(type), type));
  return InDomainOf(type, [&]<typename D>(D) {
    return Pairs(slice, result, budget, D{0}, [](D item, D before) {
      if (IsNullInDomain(item) || IsNullInDomain(before)) return NullElement<D>(Type::kLong);
      return WrappingSum(item, WrappingProduct(D{-1}, before));
    });
  });
}

absl::StatusOr<Value> Ratios(const Slice& slice, Budget& budget) {
  const Type type = slice.type();
  if (type == Type::kList) return PairList(AtomicOp::kDivide, slice, budget);
  const std::optional<Type> result = ResultType(AtomicOp::kDivide, type, type);
  TS_RETURN_IF_ERROR(RequireType("ratios", result, type).status());
  return Pairs(slice, *result, budget, 1.0,
               [](double item, double before) { return item / before; });
}

absl::StatusOr<Value> Previous(const Slice& slice, Budget& budget) {
  return Shifted(slice, true, budget);
}

absl::StatusOr<Value> Next(const Slice& slice, Budget& budget) {
  return Shifted(slice, false, budget);
}

}  // namespace tickstack::query
