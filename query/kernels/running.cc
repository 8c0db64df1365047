#include "query/kernels/running.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "query/columns/errors.h"
#include "query/columns/gather.h"
#include "query/kernels/atomic.h"
#include "query/kernels/domain_blocks.h"
#include "query/kernels/item_numbers.h"
#include "query/kernels/statistics.h"
#include "query/kernels/type_rules.h"

namespace tickstack::query {
namespace {

// Applies f(item, previous item) to the items of a list; the first one stays as it is.
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

absl::StatusOr<Value> RunOverList(Arithmetic op, const Slice& slice, Budget& budget) {
  return MapList(slice, budget, [&](const Value& item, const Value& so_far, const Value&) {
    return ApplyAtomic(op, so_far, item, budget);
  });
}

absl::StatusOr<Value> PairList(Arithmetic op, const Slice& slice, Budget& budget) {
  return MapList(slice, budget, [&](const Value& item, const Value&, const Value& before) {
    return ApplyAtomic(op, item, before, budget);
  });
}

// Applies `state = f(state, item)` along the items.
template <typename D, typename F>
absl::StatusOr<Value> Fold(const Slice& slice, Type type, Budget& budget, D state, F f) {
  return MapInDomain<D>(slice, type, budget, [&](std::span<D> block) {
    for (D& item : block) item = state = f(state, item);
  });
}

// Returns f(item, item before it) for each item; `first` precedes the first one.
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

absl::Status CheckSortable(std::string_view name, Type type) {
  if (IsFixedWidth(type) && type != Type::kGuid) return absl::OkStatus();
  return TypeError("{} of {}", name, NameOf(type));
}

absl::StatusOr<Value> FilledNames(const SymbolVector& names, Budget& budget) {
  size_t bytes = 0;
  std::string_view last;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!names[i].empty()) last = names[i];
    bytes += last.size() + 1;
  }
  TS_RETURN_IF_ERROR(budget.Charge(bytes));
  TS_RETURN_IF_ERROR(budget.Charge(names.size(), sizeof(size_t)));
  SymbolVector filled;
  filled.reserve(names.size(), bytes);
  last = {};
  for (size_t i = 0; i < names.size(); ++i) {
    if (!names[i].empty()) last = names[i];
    filled.push_back(last);
  }
  return Value::Symbols(std::move(filled));
}

// Returns whether two items match as `~` has it: floats within comparison tolerance do.
template <typename T>
bool IsSame(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>) {
    return TolerantlyEqual(double{a}, double{b});
  } else {
    return a == b;
  }
}

template <typename T>
absl::Status DifferingElements(const Slice& slice, uint8_t* out, const Budget& budget) {
  T before{};
  bool first = true;
  return ForEachBlock<T>(slice, budget, [&](const Block<T>& block) {
    for (const T& element : block.elements) {
      *out++ = first || !IsSame(element, before);
      before = element;
      first = false;
    }
  });
}

absl::Status DifferingNames(const Slice& slice, uint8_t* out, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const ItemNumbers numbers, ItemNumbers::Of(slice, budget));
  std::array<uint32_t, 1024> block;
  std::optional<uint32_t> before;
  for (size_t at = 0; at < slice.count(); at += block.size()) {
    const size_t n = std::min(block.size(), slice.count() - at);
    numbers.Read(at, std::span(block).first(n));
    for (size_t i = 0; i < n; ++i) {
      *out++ = before != block[i];
      before = block[i];
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Value> Sums(const Slice& slice, Budget& budget) {
  const Type type = slice.type();
  if (type == Type::kList) return RunOverList(Arithmetic::kAdd, slice, budget);
  TS_ASSIGN_OR_RETURN(const Type result, RequireType("sums", SumType(type), type));
  return InDomainOf(type, [&]<typename D>(D) {
    return Fold(slice, result, budget, D{0},
                [](D sum, D item) { return IsNullInDomain(item) ? sum : WrappingSum(sum, item); });
  });
}

absl::StatusOr<Value> Products(const Slice& slice, Budget& budget) {
  const Type type = slice.type();
  if (type == Type::kList) return RunOverList(Arithmetic::kMultiply, slice, budget);
  TS_ASSIGN_OR_RETURN(const Type result, RequireType("prds", SumType(type), type));
  return InDomainOf(type, [&]<typename D>(D) {
    return Fold(slice, result, budget, D{1}, [](D product, D item) {
      return IsNullInDomain(item) ? product : WrappingProduct(product, item);
    });
  });
}

absl::StatusOr<Value> RunningMax(const Slice& slice, Budget& budget) {
  const Type type = slice.type();
  if (type == Type::kList) return RunOverList(Arithmetic::kGreater, slice, budget);
  TS_RETURN_IF_ERROR(CheckSortable("maxs", type));
  return InDomainOf(type, [&]<typename D>(D) {
    return Fold(slice, type, budget, MinusInfinity<D>(type),
                [](D best, D item) { return item > best ? item : best; });
  });
}

absl::StatusOr<Value> RunningMin(const Slice& slice, Budget& budget) {
  const Type type = slice.type();
  if (type == Type::kList) return RunOverList(Arithmetic::kLesser, slice, budget);
  TS_RETURN_IF_ERROR(CheckSortable("mins", type));
  return InDomainOf(type, [&]<typename D>(D) {
    return Fold(slice, type, budget, PlusInfinity<D>(type),
                [](D best, D item) { return !IsNullInDomain(item) && item < best ? item : best; });
  });
}

absl::StatusOr<Value> Deltas(const Slice& slice, Budget& budget) {
  const Type type = slice.type();
  if (type == Type::kList) return PairList(Arithmetic::kSubtract, slice, budget);
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
  if (type == Type::kList) return PairList(Arithmetic::kDivide, slice, budget);
  const std::optional<Type> result = ResultType(Arithmetic::kDivide, type, type);
  TS_RETURN_IF_ERROR(RequireType("ratios", result, type).status());
  return Pairs(slice, *result, budget, 1.0,
               [](double item, double before) { return item / before; });
}

absl::StatusOr<Value> RunningAverage(const Slice& slice, Budget& budget) {
  TS_RETURN_IF_ERROR(CheckNumbers("avgs", slice));
  if (slice.type() == Type::kList) return EmptyVector(Type::kFloat);
  double sum = 0, count = 0;
  return MapInDomain<double>(slice, Type::kFloat, budget, [&](std::span<double> block) {
    for (double& item : block) {
      if (!std::isnan(item)) {
        sum += item;
        ++count;
      }
      item = sum / count;
    }
  });
}

absl::StatusOr<Value> Fills(const Slice& slice, Budget& budget) {
  if (slice.type() == Type::kList) return RunOverList(Arithmetic::kFill, slice, budget);
  TS_ASSIGN_OR_RETURN(Value filled, Materialise(slice, budget));
  filled.set_attribute(Attribute::kNone);
  if (slice.type() == Type::kSymbol) return FilledNames(filled.symbols(), budget);
  VisitElementType(slice.type(), [&]<typename T>(std::type_identity<T>) {
    T* const elements = reinterpret_cast<T*>(MutableElements(filled).data());
    for (size_t i = 1; i < filled.count(); ++i) {
      if (IsNullElement(slice.type(), elements[i])) elements[i] = elements[i - 1];
    }
  });
  return filled;
}

absl::StatusOr<Value> Differ(const Slice& slice, Budget& budget) {
  const size_t n = slice.count();
  TS_RETURN_IF_ERROR(budget.Charge(n));
  VectorWriter<uint8_t> out(Type::kBoolean, n);
  if (slice.type() == Type::kList) {
    TS_ASSIGN_OR_RETURN(const Value list, Materialise(slice, budget));
    for (size_t i = 0; i < n; ++i) {
      if (i % 256 == 0) TS_RETURN_IF_ERROR(budget.CheckTime());
      out.data()[i] = i == 0 || !Match(ItemAt(list, i), ItemAt(list, i - 1));
    }
  } else if (slice.type() == Type::kSymbol) {
    TS_RETURN_IF_ERROR(DifferingNames(slice, out.data(), budget));
  } else {
    TS_RETURN_IF_ERROR(VisitElementType(slice.type(), [&]<typename T>(std::type_identity<T>) {
      return DifferingElements<T>(slice, out.data(), budget);
    }));
  }
  return std::move(out).Finish();
}

absl::StatusOr<Value> Shifted(const Slice& slice, int64_t back, Budget& budget) {
  const size_t n = slice.count();
  TS_RETURN_IF_ERROR(budget.Charge(n, 2 * sizeof(uint32_t)));
  ScratchVector<uint32_t> rows = slice.rows->ToVector();
  const size_t by =
      std::min(n, back < 0 ? size_t{0} - static_cast<size_t>(back) : static_cast<size_t>(back));
  const auto end = rows.end(), begin = rows.begin();
  const auto offset = static_cast<ptrdiff_t>(by);
  if (back >= 0) {
    std::copy_backward(begin, end - offset, end);
    std::fill(begin, begin + offset, kNoItem);
  } else {
    std::copy(begin + offset, end, begin);
    std::fill(end - offset, end, kNoItem);
  }
  return GatherRows(slice.column, rows, budget);
}

absl::StatusOr<Value> Previous(const Slice& slice, Budget& budget) {
  return Shifted(slice, 1, budget);
}

absl::StatusOr<Value> Next(const Slice& slice, Budget& budget) {
  return Shifted(slice, -1, budget);
}

}  // namespace tickstack::query
