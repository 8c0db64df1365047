#include "query/aggregate.h"

#include <array>
#include <limits>

#include "query/atomic.h"
#include "query/errors.h"
#include "query/gather.h"

// Every kernel keeps eight independent accumulators ("lanes"), item i in lane i % 8 of its block.
// One accumulator would chain each step to the latency of the last one, and for floats the compiler
// may not regroup the sum itself; eight lanes are two or four vector registers whose operations
// overlap. The order of addition is therefore fixed: by lane, whatever the machine.

namespace tickstack::query {
namespace {

constexpr size_t kLanes = 8;

template <typename A, typename T, typename F>
void Accumulate(std::array<A, kLanes>& lanes, std::span<const T> elements, F f) {
  std::array<A, kLanes> local = lanes;  // In registers: `lanes` might alias the elements.
  const size_t whole = elements.size() / kLanes * kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) f(local[lane], elements[i + lane]);
  }
  for (size_t i = whole; i < elements.size(); ++i) f(local[i - whole], elements[i]);
  lanes = local;
}

template <typename T>
constexpr T PlusInfinity() {
  if constexpr (std::is_floating_point_v<T>)
    return std::numeric_limits<T>::infinity();
  else
    return std::numeric_limits<T>::max();
}
// One above the null for integers: their null is the smallest number.
template <typename T>
constexpr T MinusInfinity() {
  if constexpr (std::is_floating_point_v<T>)
    return -std::numeric_limits<T>::infinity();
  else if constexpr (std::is_unsigned_v<T>)
    return 0;
  else
    return static_cast<T>(-std::numeric_limits<T>::max());
}

template <typename T>
bool IsNull(T element) {
  if constexpr (std::is_floating_point_v<T>)
    return element != element;
  else if constexpr (std::is_unsigned_v<T>)
    return false;
  else
    return element == std::numeric_limits<T>::min();
}

// Nulls need no test here: an integer null is below minus infinity, and a NaN compares false.
template <typename T>
absl::StatusOr<T> MaxElement(const Slice& slice, Budget& budget) {
  std::array<T, kLanes> lanes;
  lanes.fill(MinusInfinity<T>());
  const auto step = [](T& best, T element) { best = element > best ? element : best; };
  TS_RETURN_IF_ERROR(ForEachBlock<T>(
      slice, budget, [&](const Block<T>& block) { Accumulate(lanes, block.elements, step); }));
  T best = lanes[0];
  for (T lane : lanes) step(best, lane);
  return best;
}

template <typename T>
absl::StatusOr<T> MinElement(const Slice& slice, Budget& budget) {
  std::array<T, kLanes> lanes;
  lanes.fill(PlusInfinity<T>());
  const auto step = [](T& best, T element) {
    const T seen = IsNull(element) ? PlusInfinity<T>() : element;
    best = seen < best ? seen : best;
  };
  TS_RETURN_IF_ERROR(ForEachBlock<T>(
      slice, budget, [&](const Block<T>& block) { Accumulate(lanes, block.elements, step); }));
  T best = lanes[0];
  for (T lane : lanes) step(best, lane);
  return best;
}

// Sum of the elements that are not null, in A, and how many those are.
template <typename A>
struct Total {
  A sum = 0;
  size_t count = 0;
};

template <typename A, typename T>
absl::StatusOr<Total<A>> TotalOf(const Slice& slice, Budget& budget) {
  std::array<A, kLanes> lanes{};
  std::array<uint64_t, kLanes> nulls{};
  TS_RETURN_IF_ERROR(ForEachBlock<T>(slice, budget, [&](const Block<T>& block) {
    Accumulate(lanes, block.elements,
               [](A& sum, T element) { sum += IsNull(element) ? A{0} : static_cast<A>(element); });
    Accumulate(nulls, block.elements, [](uint64_t& n, T element) { n += IsNull(element); });
  }));
  Total<A> total{.count = slice.count()};
  for (size_t lane = 0; lane < kLanes; ++lane) {
    total.sum += lanes[lane];
    total.count -= nulls[lane];
  }
  return total;
}

absl::StatusOr<Value> FoldList(AtomicOp op, const Slice& slice, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const Value list, Materialise(slice, budget));
  if (list.count() == 0) return Value::List({});
  Value folded = ItemAt(list, 0);
  for (size_t i = 1; i < list.count(); ++i) {
    TS_ASSIGN_OR_RETURN(folded, ApplyAtomic(op, folded, ItemAt(list, i), budget));
  }
  return folded;
}

// Calls f with the element type where a number or a char is expected.
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

// Both sides as floats, materialised one block of rows at a time.
template <typename F>
absl::Status ForEachPair(const Slice& weights, const Slice& values, Budget& budget, F f) {
  if (weights.count() != values.count()) {
    return LengthError("{} weights for {} values", weights.count(), values.count());
  }
  const Value zero = Value::Float(0);
  constexpr size_t kRows = 65536;
  for (size_t at = 0; at < weights.count(); at += kRows) {
    TS_RETURN_IF_ERROR(budget.CheckTime());
    const Budget::Temporaries temporaries(budget);
    const auto part = [&](const Slice& slice) -> absl::StatusOr<Value> {
      const auto rows = std::make_shared<const RowSet>(slice.rows->Slice(at, kRows));
      TS_ASSIGN_OR_RETURN(const Value block, Materialise(Slice{slice.column, rows}, budget));
      return ApplyAtomic(AtomicOp::kAdd, zero, block, budget);
    };
    TS_ASSIGN_OR_RETURN(const Value w, part(weights));
    TS_ASSIGN_OR_RETURN(const Value x, part(values));
    if (!w.is(Type::kFloat) || !x.is(Type::kFloat)) return TypeError("weights that are no numbers");
    for (size_t i = 0; i < w.count(); ++i) f(w.span<double>()[i], x.span<double>()[i]);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Value> Max(const Slice& slice, Budget& budget) {
  if (slice.type() == Type::kList) return FoldList(AtomicOp::kGreater, slice, budget);
  return VisitNumbers("max", slice,
                      [&]<typename T>(std::type_identity<T>) -> absl::StatusOr<Value> {
                        TS_ASSIGN_OR_RETURN(const T best, MaxElement<T>(slice, budget));
                        return Value::Atom(slice.type(), best);
                      });
}

absl::StatusOr<Value> Min(const Slice& slice, Budget& budget) {
  if (slice.type() == Type::kList) return FoldList(AtomicOp::kLesser, slice, budget);
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
    return FoldList(AtomicOp::kAdd, slice, budget);
  }
  const std::optional<Type> result = SumType(slice.type());
  if (!result.has_value()) return TypeError("sum of {}", NameOf(slice.type()));
  return VisitNumbers("sum", slice, [&]<typename T>(std::type_identity<T>) {
    return SumAs<T>(*result, slice, budget);
  });
}

absl::StatusOr<Value> Avg(const Slice& slice, Budget& budget) {
  if (slice.type() == Type::kList) {
    TS_ASSIGN_OR_RETURN(const Value sum, FoldList(AtomicOp::kAdd, slice, budget));
    if (slice.count() == 0) return NullOf(Type::kFloat);
    const Value count = Value::Long(static_cast<int64_t>(slice.count()));
    return ApplyAtomic(AtomicOp::kDivide, sum, count, budget);
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
  double products = 0, total = 0;
  TS_RETURN_IF_ERROR(ForEachPair(weights, values, budget, [&](double w, double x) {
    if (IsNull(w) || IsNull(x)) return;
    products += w * x;
    total += w;
  }));
  const double mean = products / total;
  return mean != mean ? NullOf(Type::kFloat) : Value::Float(mean);
}

absl::StatusOr<Value> WeightedSum(const Slice& weights, const Slice& values, Budget& budget) {
  double products = 0;
  TS_RETURN_IF_ERROR(ForEachPair(weights, values, budget, [&](double w, double x) {
    if (!IsNull(w) && !IsNull(x)) products += w * x;
  }));
  return Value::Float(products);
}

absl::StatusOr<Value> First(const Slice& slice) {
  return slice.count() == 0 ? NullOf(slice.type()) : slice.At(0);
}

absl::StatusOr<Value> Last(const Slice& slice) {
  return slice.count() == 0 ? NullOf(slice.type()) : slice.At(slice.count() - 1);
}

}  // namespace tickstack::query
