#include "query/kernels/filter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>

#include "base/check.h"
#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/columns/gather.h"
#include "query/kernels/atomic.h"
#include "query/kernels/search.h"
#include "query/kernels/select_rows.h"
#include "query/kernels/temporal.h"
#include "query/kernels/time_cut.h"

namespace tickstack::query {
namespace {

template <typename T>
Interval<T> Nothing() {
  return {T{1}, T{0}};
}

// Returns the interval of integers as q compares them: widened to 64 bits, with nulls below
// everything.
Interval<int64_t> IntegerInterval(Comparison op, int64_t v) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  switch (op) {
    case Comparison::kEqual:
      return {v, v};
    case Comparison::kNotEqual:
      return {v, v, false, true};
    case Comparison::kLess:
      return v == kMin ? Nothing<int64_t>() : Interval<int64_t>{kMin, v - 1};
    case Comparison::kLessOrEqual:
      return {kMin, v};
    case Comparison::kGreaterThan:
      return v == kMax ? Nothing<int64_t>() : Interval<int64_t>{v + 1, kMax};
    case Comparison::kGreaterOrEqual:
      return {v, kMax};
  }
  TS_CHECK(false);
}

// Returns the same interval for narrower elements, whose null stands for the widened null.
template <typename T>
Interval<T> Narrow(const Interval<int64_t>& wide) {
  constexpr int64_t kMin = std::numeric_limits<T>::min(), kMax = std::numeric_limits<T>::max();
  constexpr bool kHasNull = std::is_signed_v<T>;
  Interval<T> empty = Nothing<T>();
  empty.negated = wide.negated;
  if (wide.lo > wide.hi || wide.lo > kMax) return empty;
  int64_t lo = std::max(wide.lo, kMin), hi = std::min(wide.hi, kMax);
  if (kHasNull && wide.lo != kNullLong) lo = std::max(lo, kMin + 1);
  if (kHasNull && wide.lo == kNullLong) hi = std::max(hi, kMin);
  if (lo > hi) return empty;
  return {static_cast<T>(lo), static_cast<T>(hi), false, wide.negated};
}

// The floats that equal v within q's tolerance lie between this one and HighestEqual.
double LowestEqual(double v) {
  if (v == 0 || std::isinf(v)) return v;
  double lowest = v > 0 ? v * (1 - 0x1p-43) : v / (1 - 0x1p-43);
  constexpr double kDown = -std::numeric_limits<double>::infinity();
  while (TolerantlyEqual(std::nextafter(lowest, kDown), v)) lowest = std::nextafter(lowest, kDown);
  while (!TolerantlyEqual(lowest, v)) lowest = std::nextafter(lowest, -kDown);
  return lowest;
}
double HighestEqual(double v) { return -LowestEqual(-v); }

Interval<double> FloatInterval(Comparison op, double v) {
  constexpr double kMax = std::numeric_limits<double>::infinity();
  const bool null = std::isnan(v);
  Interval<double> interval = Nothing<double>();
  switch (op) {
    case Comparison::kEqual:
    case Comparison::kNotEqual:
      if (!null) interval = {LowestEqual(v), HighestEqual(v)};
      interval.with_nulls = null;
      interval.negated = op == Comparison::kNotEqual;
      return interval;
    case Comparison::kLess:
      if (!null && v > -kMax) interval = {-kMax, std::nextafter(LowestEqual(v), -kMax)};
      interval.with_nulls = !null;
      return interval;
    case Comparison::kLessOrEqual:
      if (!null) interval = {-kMax, HighestEqual(v)};
      interval.with_nulls = true;
      return interval;
    case Comparison::kGreaterThan:
      if (null) return {-kMax, kMax};
      return v < kMax ? Interval<double>{std::nextafter(HighestEqual(v), kMax), kMax} : interval;
    case Comparison::kGreaterOrEqual:
      if (null) return {-kMax, kMax, true};
      return {LowestEqual(v), kMax};
  }
  TS_CHECK(false);
}

bool IsNumber(Type type) { return IsFixedWidth(type) && type != Type::kGuid; }

// Returns the constant in the column's unit, if it can be expressed there: a date as a timestamp, a
// minute as seconds.
std::optional<Value> InUnitOf(Type column, const Value& constant, Budget& budget) {
  const Type type = constant.type();
  if (type == column || !IsTemporal(type) || !IsTemporal(column)) return constant;
  if (IsFloating(type) || IsFloating(column)) return std::nullopt;
  const bool finer = IsInstant(column) ? column == Type::kTimestamp && IsInstant(type)
                                       : IsTimeOfDay(type) && UnitNs(type) > UnitNs(column);
  if (!finer) return std::nullopt;
  const Value zero = IsInstant(column)      ? Value::Timespan(0)
                     : WidthOf(column) == 8 ? Value::Atom(column, int64_t{0})
                                            : Value::Atom(column, int32_t{0});
  absl::StatusOr<Value> converted = ApplyAtomic(Arithmetic::kAdd, constant, zero, budget);
  if (!converted.ok() || converted->type() != column) return std::nullopt;
  return *std::move(converted);
}

int64_t WidenedLong(const Value& atom) {
  return VisitElementType(atom.type(), [&]<typename T>(std::type_identity<T>) -> int64_t {
    if constexpr (std::is_integral_v<T>) {
      const T element = atom.as<T>();
      if (std::is_signed_v<T> && IsNullElement(atom.type(), element)) return kNullLong;
      return element;
    } else {
      return 0;
    }
  });
}

double WidenedDouble(const Value& atom) {
  return VisitElementType(atom.type(), [&]<typename T>(std::type_identity<T>) -> double {
    if constexpr (std::is_floating_point_v<T>) {
      return atom.as<T>();
    } else if constexpr (std::is_integral_v<T>) {
      const int64_t wide = WidenedLong(atom);
      return wide == kNullLong ? NullElement<double>(Type::kFloat) : static_cast<double>(wide);
    } else {
      return 0;
    }
  });
}

Interval<int64_t> Intersection(const Interval<int64_t>& a, const Interval<int64_t>& b) {
  return {std::max(a.lo, b.lo), std::min(a.hi, b.hi)};
}
Interval<double> Intersection(const Interval<double>& a, const Interval<double>& b) {
  return {std::max(a.lo, b.lo), std::min(a.hi, b.hi), a.with_nulls && b.with_nulls};
}

// A bound of a condition: a comparison has one, `within` has two.
struct Bound {
  Comparison op;
  Value atom;
};

std::optional<std::vector<Bound>> BoundsOf(Type column, const Condition& condition,
                                           const Value& constant, Budget& budget) {
  std::vector<Bound> bounds;
  if (condition.kind == Condition::Kind::kCompare && constant.is_atom()) {
    bounds.push_back({condition.op, constant});
  } else if (condition.kind == Condition::Kind::kWithin && constant.is_vector() &&
             constant.count() == 2) {
    bounds.push_back({Comparison::kGreaterOrEqual, ItemAt(constant, 0)});
    bounds.push_back({Comparison::kLessOrEqual, ItemAt(constant, 1)});
  } else {
    return std::nullopt;
  }
  for (Bound& bound : bounds) {
    const bool comparable = ResultType(bound.op, column, bound.atom.type()).has_value();
    if (!comparable || !IsNumber(bound.atom.type())) return std::nullopt;
    if (!IsFloating(column) && IsFloating(bound.atom.type())) return std::nullopt;
    std::optional<Value> atom = InUnitOf(column, bound.atom, budget);
    if (!atom.has_value()) return std::nullopt;
    bound.atom = *std::move(atom);
  }
  return bounds;
}

Interval<int64_t> LongInterval(const std::vector<Bound>& bounds) {
  Interval<int64_t> interval = IntegerInterval(bounds[0].op, WidenedLong(bounds[0].atom));
  if (bounds.size() == 1) return interval;
  return Intersection(interval, IntegerInterval(bounds[1].op, WidenedLong(bounds[1].atom)));
}

Interval<double> DoubleInterval(const std::vector<Bound>& bounds) {
  Interval<double> interval = FloatInterval(bounds[0].op, WidenedDouble(bounds[0].atom));
  if (bounds.size() == 1) return interval;
  return Intersection(interval, FloatInterval(bounds[1].op, WidenedDouble(bounds[1].atom)));
}

absl::StatusOr<RowSet> SelectInBounds(const Slice& slice, const std::vector<Bound>& bounds,
                                      Budget& budget) {
  return VisitElementType(
      slice.type(), [&]<typename T>(std::type_identity<T>) -> absl::StatusOr<RowSet> {
        if constexpr (std::is_same_v<T, float>) {
          // Compares as doubles, because these decide which numbers are equal.
          const Interval<double> interval = DoubleInterval(bounds);
          return SelectRows<T>(slice, budget, [interval](T x) { return interval.Contains(x); });
        } else if constexpr (std::is_same_v<T, double>) {
          return SelectRows<T>(slice, budget, DoubleInterval(bounds));
        } else if constexpr (std::is_integral_v<T>) {
          return SelectRows<T>(slice, budget, Narrow<T>(LongInterval(bounds)));
        } else {
          return TypeError("an interval of guids");
        }
      });
}

// Returns whether the index has a copy of the column's values.
bool IsIndexedTime(const AnyColumn& column) {
  return column.captured() && column.snapshot().schema().columns[column.index()].name == "time";
}

// Returns whether a column may ascend within each symbol's rows of a stored table.
bool IsStoredTime(const AnyColumn& column) {
  return column.stored() != nullptr && column.direct() && IsTemporal(column.type()) &&
         !IsFloating(column.type());
}

// Returns the part of a range of rows to which a condition on time applies.
std::optional<TimeCut> CutRange(const Slice& slice, const Interval<int64_t>& interval) {
  if (interval.negated) return std::nullopt;
  return CutByTime(slice.column, slice.rows->begin_row(), slice.rows->end_row(), interval.lo,
                   interval.hi);
}

// Filters without a kernel: by the general operators, a block of rows at a time.
absl::StatusOr<RowSet> FilterByBlocks(const Slice& slice, const Condition& condition,
                                      const Value& constant, Budget& budget) {
  constexpr size_t kRows = 65536;
  RowSetBuilder kept;
  for (size_t at = 0; at < slice.count(); at += kRows) {
    TS_RETURN_IF_ERROR(budget.CheckTime());
    const Budget::Temporaries temporaries(budget);
    const auto rows = std::make_shared<const RowSet>(slice.rows->Slice(at, kRows));
    TS_ASSIGN_OR_RETURN(const Value block, Materialise(Slice{slice.column, rows}, budget));
    absl::StatusOr<Value> flags = condition.kind == Condition::Kind::kCompare
                                      ? ApplyAtomic(condition.op, block, constant, budget)
                                      : Within(block, constant, budget);
    TS_RETURN_IF_ERROR(flags.status());
    TS_ASSIGN_OR_RETURN(const RowSet passed, Keep(*rows, *flags));
    kept.Append(passed.ToVector());
  }
  RowSet rows = std::move(kept).Finish();
  TS_RETURN_IF_ERROR(budget.Charge(rows.count(), sizeof(uint32_t)));
  return rows;
}

}  // namespace

absl::StatusOr<std::optional<RowSet>> Filter(const TableView& view, size_t column,
                                             const RowSet& rows, Condition condition,
                                             const Value& constant, Budget& budget) {
  TS_ASSIGN_OR_RETURN(AnyColumn whole, view.columns[column].Get(budget));
  const Slice slice{std::move(whole), std::make_shared<const RowSet>(rows)};
  if (slice.type() == Type::kSymbol) {
    return internal::FilterSymbols(slice, condition, constant, budget);
  }
  if (!IsNumber(slice.type())) return std::nullopt;
  const bool by_items = condition.kind == Condition::Kind::kIn ||
                        condition.kind == Condition::Kind::kLike ||
                        (condition.kind == Condition::Kind::kCompare && !constant.is_atom());
  if (by_items) return std::nullopt;
  const std::optional<std::vector<Bound>> bounds =
      BoundsOf(slice.type(), condition, constant, budget);
  if (!bounds.has_value()) {
    // The evaluator handles bounds that vary with the rows.
    if (condition.kind == Condition::Kind::kWithin && !constant.is_vector()) return std::nullopt;
    // The general operators then find errors of types.
    if (slice.count() == 0) return std::nullopt;
    return FilterByBlocks(slice, condition, constant, budget);
  }
  if (rows.has_sorted_times() && IsIndexedTime(slice.column)) {
    const Interval<int64_t> interval = LongInterval(*bounds);
    if (!interval.negated) return rows.WithTimes(interval.lo, interval.hi);
  }
  if (rows.is_range() && WidthOf(slice.type()) == 8 && !IsFloating(slice.type())) {
    const Interval<int64_t> interval = LongInterval(*bounds);
    if (const std::optional<TimeCut> cut = CutRange(slice, interval)) {
      RowSet within = RowSet::Range(cut->begin_row, cut->end_row);
      if (cut->exact) return within;
      return SelectInBounds({slice.column, std::make_shared<const RowSet>(std::move(within))},
                            *bounds, budget);
    }
  }
  return SelectInBounds(slice, *bounds, budget);
}

absl::StatusOr<std::optional<SymbolRows>> FilterTimes(const SymbolRows& rows, const TableView& view,
                                                      size_t column, Condition condition,
                                                      const Value& constant, Budget& budget) {
  const AnyColumn* const times = view.columns[column].gathered();
  if (times == nullptr) return std::nullopt;
  const bool stored = IsStoredTime(*times) && rows.key().stored() != nullptr;
  if (!stored && !(IsIndexedTime(*times) && rows.key().captured())) return std::nullopt;
  const std::optional<std::vector<Bound>> bounds =
      BoundsOf(times->type(), condition, constant, budget);
  if (!bounds.has_value()) return std::nullopt;
  const Interval<int64_t> interval = LongInterval(*bounds);
  if (interval.negated) return std::nullopt;
  if (!stored) return rows.WithTimes(interval.lo, interval.hi);
  if (WidthOf(times->type()) == 4) {
    const Interval<int32_t> narrow = Narrow<int32_t>(interval);
    return rows.WithTimesOf(*times, narrow.lo, narrow.hi, budget);
  }
  return rows.WithTimesOf(*times, interval.lo, interval.hi, budget);
}

absl::StatusOr<std::optional<SymbolRows>> FilterTimesOfDay(const SymbolRows& rows,
                                                           const TableView& view, size_t column,
                                                           Type part, Condition condition,
                                                           const Value& constant, Budget& budget) {
  const AnyColumn* const times = view.columns[column].gathered();
  if (times == nullptr || times->type() != Type::kTimestamp || !IsStoredTime(*times) ||
      rows.key().stored() == nullptr) {
    return std::nullopt;
  }
  const std::optional<std::vector<Bound>> bounds = BoundsOf(part, condition, constant, budget);
  if (!bounds.has_value()) return std::nullopt;
  const Interval<int64_t> interval = LongInterval(*bounds);
  if (interval.negated) return std::nullopt;
  const int64_t unit_ns = UnitNs(part), units = kNsPerDay / unit_ns;
  const int64_t first = std::clamp<int64_t>(interval.lo, 0, units);
  const int64_t last = std::clamp<int64_t>(interval.hi, -1, units - 1);
  return rows.WithTimesOfDay(*times, first * unit_ns, (last + 1) * unit_ns - 1, budget);
}

std::optional<RangeFilter> RangeFilter::Make(const AnyColumn& column, const RowSet& rows,
                                             const Condition& condition, const Value& constant,
                                             Budget& budget) {
  if (!column.direct() || !IsNumber(column.type()) || !rows.is_range()) return std::nullopt;
  const std::optional<std::vector<Bound>> bounds =
      BoundsOf(column.type(), condition, constant, budget);
  if (!bounds.has_value()) return std::nullopt;
  if (WidthOf(column.type()) == 8 && !IsFloating(column.type()) &&
      CutByTime(column, rows.begin_row(), rows.end_row(), 0, 0).has_value()) {
    return std::nullopt;
  }
  return VisitElementType(
      column.type(), [&]<typename T>(std::type_identity<T>) -> std::optional<RangeFilter> {
        if constexpr (std::is_same_v<T, float> || std::is_same_v<T, Guid>) {
          return std::nullopt;  // Reals are compared as doubles, for which there is no kernel.
        } else {
          Interval<T> interval;
          if constexpr (std::is_same_v<T, double>) {
            interval = DoubleInterval(*bounds);
          } else {
            interval = Narrow<T>(LongInterval(*bounds));
          }
          return RangeFilter(column, [column, interval](size_t row, size_t n, uint32_t* passed) {
            const ChunkLayout layout = column.layout();
            size_t count = 0;
            bool all = true;  // True if all earlier rows passed.
            EachPart(layout, row, row + n, [&](size_t begin_row, size_t end_row) {
              const size_t chunk = layout.NumberOf(begin_row);
              mem::MediumAccess access(column.medium());
              const std::span<const T> items = column.Chunk<T>(chunk).subspan(
                  begin_row - layout.BeginRow(chunk), end_row - begin_row);
              const size_t lead = all ? Kernels<T>().lead(items.data(), items.size(), interval) : 0;
              count += lead;
              if (lead < items.size()) {
                if (all) std::iota(passed, passed + count, static_cast<uint32_t>(row));
                all = false;
                count +=
                    Kernels<T>().select(items.data() + lead, items.size() - lead, interval,
                                        static_cast<uint32_t>(begin_row + lead), passed + count);
              }
              access.ReadInOrder(items.data(), items.size_bytes());
            });
            return count;
          });
        }
      });
}

absl::StatusOr<RowSet> Keep(const RowSet& rows, const Value& flags) {
  if (flags.type() != Type::kBoolean) {
    return TypeError("a condition of {}, not boolean", NameOf(flags.type()));
  }
  if (flags.is_atom()) return flags.as<uint8_t>() != 0 ? rows : RowSet();
  if (flags.count() != rows.count()) {
    return LengthError("a condition of {} flags for {} rows", flags.count(), rows.count());
  }
  const std::span<const uint8_t> flag = flags.span<uint8_t>();
  ScratchVector<uint32_t> kept;
  kept.reserve(static_cast<size_t>(std::ranges::count_if(flag, [](uint8_t f) { return f != 0; })));
  const ScratchVector<uint32_t> numbers = rows.ToVector();
  for (size_t i = 0; i < flag.size(); ++i) {
    if (flag[i] != 0) kept.push_back(numbers[i]);
  }
  return RowSet::FromRows(std::move(kept));
}

}  // namespace tickstack::query
