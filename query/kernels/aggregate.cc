#include "query/kernels/aggregate.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "query/columns/errors.h"
#include "query/columns/gather.h"
#include "query/columns/parallel.h"
#include "query/kernels/atomic.h"
#include "query/kernels/casts.h"
#include "query/kernels/domain_blocks.h"
#include "query/kernels/float_pairs.h"
#include "query/kernels/number_kernels.h"
#include "query/kernels/number_rules.h"

namespace tickstack::query {
namespace {

// Rows of a task. The cuts are the same on every machine, so that sums of floats are the same too.
constexpr size_t kItemsPerAggregate = size_t{1} << 18;

// Folds the elements of a slice. Calls `step(state, elements)` for the blocks of a part of the
// rows, on any thread, and `merge(state, later)` for the parts in their order.
template <typename T, typename State, typename Step, typename Merge>
absl::StatusOr<State> Fold(const Slice& slice, const Budget& budget, State first, Step step,
                           Merge merge) {
  const auto fold = [&](State& state, size_t begin, size_t end) {
    return ForEachBlock<T>(slice, begin, end, budget,
                           [&](const Block<T>& block) { step(state, block.elements); });
  };
  if (slice.count() <= kItemsPerAggregate) {
    TS_RETURN_IF_ERROR(fold(first, 0, slice.count()));
    return first;
  }
  std::vector<State> states((slice.count() + kItemsPerAggregate - 1) / kItemsPerAggregate, first);
  TS_RETURN_IF_ERROR(
      ParallelRanges(budget, slice.count(), kItemsPerAggregate, [&](size_t begin, size_t end) {
        State state = first;  // Kept apart from the states that other threads write.
        const absl::Status status = fold(state, begin, end);
        states[begin / kItemsPerAggregate] = state;
        return status;
      }));
  for (const State& state : states) merge(first, state);
  return first;
}

template <typename T>
absl::StatusOr<T> MaxElement(const Slice& slice, const Budget& budget) {
  const auto step = [max = Kernels<T>().max](T& best, std::span<const T> elements) {
    best = max(elements.data(), elements.size(), best);
  };
  const auto merge = [](T& best, T later) { best = later > best ? later : best; };
  return Fold<T>(slice, budget, MinusInfinity<T>(), step, merge);
}

template <typename T>
absl::StatusOr<T> MinElement(const Slice& slice, const Budget& budget) {
  const auto step = [min = Kernels<T>().min](T& best, std::span<const T> elements) {
    best = min(elements.data(), elements.size(), best);
  };
  const auto merge = [](T& best, T later) { best = later < best ? later : best; };
  return Fold<T>(slice, budget, PlusInfinity<T>(), step, merge);
}

// The sum, in A, of the elements that are not null, and how many those are.
template <typename A>
struct Total {
  A sum = 0;
  size_t count = 0;
};

template <typename A, typename T>
absl::StatusOr<Total<A>> TotalOf(const Slice& slice, const Budget& budget) {
  constexpr bool kOwnSums = std::is_same_v<A, typename Totals<T>::Sum>;
  const auto step = [](Totals<T>& totals, std::span<const T> elements) {
    const NumberKernels<T>& kernels = Kernels<T>();
    (kOwnSums ? kernels.add : kernels.add_as_floats)(elements.data(), elements.size(), totals);
  };
  const auto merge = [](Totals<T>& totals, const Totals<T>& later) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      totals.sums[lane] += later.sums[lane];
      totals.float_sums[lane] += later.float_sums[lane];
      totals.nulls[lane] += later.nulls[lane];
    }
  };
  TS_ASSIGN_OR_RETURN(const Totals<T> totals, Fold<T>(slice, budget, Totals<T>(), step, merge));
  Total<A> total{.count = slice.count()};
  for (size_t lane = 0; lane < kLanes; ++lane) {
    if constexpr (kOwnSums) {
      total.sum += totals.sums[lane];
    } else {
      total.sum += totals.float_sums[lane];
    }
    total.count -= totals.nulls[lane];
  }
  return total;
}

// Returns a null atom as the zero of its type.
Value NullAsZero(Value atom) {
  const Type type = atom.type();
  if (!IsFixedWidth(type)) return atom;
  const bool null = VisitElementType(
      type, [&]<typename T>(std::type_identity<T>) { return IsNullElement(type, atom.as<T>()); });
  if (!null) return atom;
  const std::array<std::byte, sizeof(Guid)> zero{};
  return Value::AtomFromBytes(type, std::span(zero).first(WidthOf(type)));
}

absl::StatusOr<Value> FoldList(Arithmetic op, const Slice& slice, Budget& budget) {
  TS_ASSIGN_OR_RETURN(Value list, Materialise(slice, budget));
  if (list.count() == 0) return Value::List({});
  // Nulls of a mixed list count as zeros in a sum; those of vectors in a list stay nulls.
  if (op == Arithmetic::kAdd && list.is_list() &&
      std::ranges::all_of(list.items(), &Value::is_atom)) {
    for (Value& item : list.mutable_items()) item = NullAsZero(std::move(item));
  }
  Value folded = ItemAt(list, 0);
  for (size_t i = 1; i < list.count(); ++i) {
    TS_ASSIGN_OR_RETURN(folded, ApplyAtomic(op, folded, ItemAt(list, i), budget));
  }
  return folded;
}

// Calls f with the element type if it is a number or a char.
template <typename F>
absl::StatusOr<Value> VisitNumbers(std::string_view name, const Slice& slice, F f) {
  const Type type = slice.type();
  if (!IsFixedWidth(type) || type == Type::kGuid) return TypeError("{} of {}", name, NameOf(type));
  return VisitElementType(type, [&]<typename T>(std::type_identity<T>) -> absl::StatusOr<Value> {
    if constexpr (std::is_same_v<T, Guid>)
      return TypeError("{} of guids", name);
    else
      return f(std::type_identity<T>());
  });
}

template <typename T>
absl::StatusOr<Value> SumAs(Type result, const Slice& slice, Budget& budget) {
  if constexpr (std::is_floating_point_v<T>) {
    TS_ASSIGN_OR_RETURN(const auto total, (TotalOf<double, T>(slice, budget)));
    return Value::Atom(result, static_cast<T>(total.sum));
  } else {
    // Unsigned, since the sum may wrap.
    TS_ASSIGN_OR_RETURN(const auto total, (TotalOf<uint64_t, T>(slice, budget)));
    const auto sum = static_cast<int64_t>(total.sum);
    if (WidthOf(result) == 8) return Value::Atom(result, sum);
    return Value::Atom(result, static_cast<int32_t>(sum));
  }
}

// Multiplies items with wrapping: F is double, or uint64_t for whole numbers.
template <typename F>
absl::StatusOr<Value> ProductAs(Type result, const Slice& slice, Budget& budget) {
  using Domain = std::conditional_t<std::is_same_v<F, double>, double, int64_t>;
  F product = 1;
  TS_RETURN_IF_ERROR(ForEachDomainBlock<Domain>(slice, budget, [&](std::span<Domain> block) {
    for (const Domain item : block) {
      if (!IsNullInDomain(item)) product *= static_cast<F>(item);
    }
  }));
  if (result == Type::kReal) return Value::Real(static_cast<float>(product));
  if (WidthOf(result) == 4) {
    return Value::Atom(result, static_cast<int32_t>(static_cast<uint64_t>(product)));
  }
  return Value::Atom(result, static_cast<Domain>(product));
}

// Returns which items are other than 0.
absl::StatusOr<Slice> AsFlags(const Slice& slice, Budget& budget) {
  if (slice.type() == Type::kBoolean) return slice;
  TS_ASSIGN_OR_RETURN(Value flags, CastColumn(slice, {Type::kBoolean, std::nullopt}, budget));
  return Slice::Of(std::move(flags));
}

// Computes with both sides as floats, a block of rows at a time, by the general operators.
template <typename F>
absl::Status ForEachConvertedPair(const Slice& weights, const Slice& values, Budget& budget, F f) {
  const Value zero = Value::Float(0);
  constexpr size_t kRows = 65536;
  for (size_t at = 0; at < weights.count(); at += kRows) {
    TS_RETURN_IF_ERROR(budget.CheckTime());
    const Budget::Temporaries temporaries(budget);
    const auto part = [&](const Slice& slice) -> absl::StatusOr<Value> {
      const auto rows = std::make_shared<const RowSet>(slice.rows->Slice(at, kRows));
      TS_ASSIGN_OR_RETURN(const Value block, Materialise(Slice{slice.column, rows}, budget));
      return ApplyAtomic(Arithmetic::kAdd, zero, block, budget);
    };
    TS_ASSIGN_OR_RETURN(const Value w, part(weights));
    TS_ASSIGN_OR_RETURN(const Value x, part(values));
    if (!w.is(Type::kFloat) || !x.is(Type::kFloat)) return TypeError("weights that are no numbers");
    for (size_t i = 0; i < w.count(); ++i) f(w.span<double>()[i], x.span<double>()[i]);
  }
  return absl::OkStatus();
}

struct WeightedTotal {
  double products = 0;
  double weights = 0;
};

absl::StatusOr<WeightedTotal> WeightedTotalOf(const Slice& weights, const Slice& values,
                                              Budget& budget) {
  if (weights.count() != values.count()) {
    return LengthError("{} weights for {} values", weights.count(), values.count());
  }
  WeightedTotal total;
  const auto add = [](WeightedTotal& to, double w, double x) {
    const bool null = IsNull(w) | IsNull(x);
    to.products += null ? 0.0 : w * x;
    to.weights += null ? 0.0 : w;
  };
  if (!ReadsAsFloats(weights.type()) || !ReadsAsFloats(values.type())) {
    TS_RETURN_IF_ERROR(ForEachConvertedPair(weights, values, budget,
                                            [&](double w, double x) { add(total, w, x); }));
    return total;
  }
  std::vector<WeightedTotal> parts((weights.count() + kItemsPerAggregate - 1) / kItemsPerAggregate);
  TS_RETURN_IF_ERROR(
      ParallelRanges(budget, weights.count(), kItemsPerAggregate, [&](size_t begin, size_t end) {
        WeightedTotal part;
        const absl::Status status =
            ForEachFloatPair(weights, values, begin, end, budget,
                             [&](size_t, double w, double x) { add(part, w, x); });
        parts[begin / kItemsPerAggregate] = part;
        return status;
      }));
  for (const WeightedTotal& part : parts) {
    total.products += part.products;
    total.weights += part.weights;
  }
  return total;
}

}  // namespace

absl::StatusOr<Value> Max(const Slice& slice, Budget& budget) {
  if (slice.type() == Type::kList) return FoldList(Arithmetic::kGreater, slice, budget);
  return VisitNumbers("max", slice,
                      [&]<typename T>(std::type_identity<T>) -> absl::StatusOr<Value> {
                        TS_ASSIGN_OR_RETURN(const T best, MaxElement<T>(slice, budget));
                        return Value::Atom(slice.type(), best);
                      });
}

absl::StatusOr<Value> Min(const Slice& slice, Budget& budget) {
  if (slice.type() == Type::kList) return FoldList(Arithmetic::kLesser, slice, budget);
  return VisitNumbers("min", slice,
                      [&]<typename T>(std::type_identity<T>) -> absl::StatusOr<Value> {
                        TS_ASSIGN_OR_RETURN(T best, MinElement<T>(slice, budget));
                        if (slice.type() == Type::kBoolean && slice.count() == 0) best = T{1};
                        return Value::Atom(slice.type(), best);
                      });
}

absl::StatusOr<Value> Sum(const Slice& slice, Budget& budget) {
  if (slice.type() == Type::kList) {
    if (slice.count() == 0) return Value::Long(0);
    return FoldList(Arithmetic::kAdd, slice, budget);
  }
  const std::optional<Type> result = SumType(slice.type());
  if (!result.has_value()) return TypeError("sum of {}", NameOf(slice.type()));
  return VisitNumbers("sum", slice, [&]<typename T>(std::type_identity<T>) {
    return SumAs<T>(*result, slice, budget);
  });
}

absl::StatusOr<Value> Product(const Slice& slice, Budget& budget) {
  const Type type = slice.type();
  if (type == Type::kList) {
    if (slice.count() == 0) return Value::Long(1);
    return FoldList(Arithmetic::kMultiply, slice, budget);
  }
  const std::optional<Type> result = SumType(type);
  if (!result.has_value()) return TypeError("prd of {}", NameOf(type));
  if (IsFloating(*result)) return ProductAs<double>(*result, slice, budget);
  return ProductAs<uint64_t>(*result, slice, budget);
}

absl::StatusOr<Value> AllTrue(const Slice& slice, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const Slice flags, AsFlags(slice, budget));
  return Min(flags, budget);
}

absl::StatusOr<Value> AnyTrue(const Slice& slice, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const Slice flags, AsFlags(slice, budget));
  return Max(flags, budget);
}

absl::StatusOr<Value> Avg(const Slice& slice, Budget& budget) {
  if (slice.type() == Type::kList) {
    TS_ASSIGN_OR_RETURN(const Value sum, FoldList(Arithmetic::kAdd, slice, budget));
    if (slice.count() == 0) return NullOf(Type::kFloat);
    const Value count = Value::Long(static_cast<int64_t>(slice.count()));
    return ApplyAtomic(Arithmetic::kDivide, sum, count, budget);
  }
  if (slice.type() == Type::kChar) return TypeError("avg of chars");
  return VisitNumbers("avg", slice,
                      [&]<typename T>(std::type_identity<T>) -> absl::StatusOr<Value> {
                        TS_ASSIGN_OR_RETURN(const auto total, (TotalOf<double, T>(slice, budget)));
                        if (total.count == 0) return NullOf(Type::kFloat);
                        const double mean = total.sum / static_cast<double>(total.count);
                        return mean != mean ? NullOf(Type::kFloat) : Value::Float(mean);
                      });
}

absl::StatusOr<Value> WeightedAvg(const Slice& weights, const Slice& values, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const WeightedTotal total, WeightedTotalOf(weights, values, budget));
  const double mean = total.products / total.weights;
  return mean != mean ? NullOf(Type::kFloat) : Value::Float(mean);
}

absl::StatusOr<Value> WeightedSum(const Slice& weights, const Slice& values, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const WeightedTotal total, WeightedTotalOf(weights, values, budget));
  return Value::Float(total.products);
}

absl::StatusOr<Value> First(const Slice& slice) {
  return slice.count() == 0 ? NullOf(slice.type()) : slice.At(0);
}

absl::StatusOr<Value> Last(const Slice& slice) {
  return slice.count() == 0 ? NullOf(slice.type()) : slice.At(slice.count() - 1);
}

}  // namespace tickstack::query
