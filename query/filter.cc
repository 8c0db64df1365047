#include "query/filter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "query/atomic.h"
#include "query/elements.h"
#include "query/errors.h"
#include "query/gather.h"
#include "query/search.h"

namespace tickstack::query {
namespace {

// Which elements pass: those in [lo, hi], and floats' nulls by a flag of their own; or all others.
template <typename T>
struct Interval {
  T lo;
  T hi;
  bool with_nulls = false;
  bool negated = false;

  bool Contains(T element) const {
    // Without a jump, so that it becomes vector code.
    bool inside = (lo <= element) & (element <= hi);
    if constexpr (std::is_floating_point_v<T>) inside |= with_nulls & (element != element);
    return inside ^ negated;
  }
};

template <typename T>
Interval<T> Nothing() {
  return {T{1}, T{0}};
}

// Integers as q compares them: widened to 64 bits, nulls below everything.
Interval<int64_t> IntegerInterval(AtomicOp op, int64_t v) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  switch (op) {
    case AtomicOp::kEqual:
      return {v, v};
    case AtomicOp::kNotEqual:
      return {v, v, false, true};
    case AtomicOp::kLess:
      return v == kMin ? Nothing<int64_t>() : Interval<int64_t>{kMin, v - 1};
    case AtomicOp::kLessOrEqual:
      return {kMin, v};
    case AtomicOp::kGreaterThan:
      return v == kMax ? Nothing<int64_t>() : Interval<int64_t>{v + 1, kMax};
    default:
      return {v, kMax};
  }
}

// The same interval over narrower elements, whose null stands for the widened null.
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

// The floats that are tolerantly equal to v are the interval between these two.
double LowestEqual(double v) {
  if (v == 0 || std::isinf(v)) return v;
  double lowest = v > 0 ? v * (1 - 0x1p-43) : v / (1 - 0x1p-43);
  constexpr double kDown = -std::numeric_limits<double>::infinity();
  while (TolerantlyEqual(std::nextafter(lowest, kDown), v)) lowest = std::nextafter(lowest, kDown);
  while (!TolerantlyEqual(lowest, v)) lowest = std::nextafter(lowest, -kDown);
  return lowest;
}
double HighestEqual(double v) { return -LowestEqual(-v); }

Interval<double> FloatInterval(AtomicOp op, double v) {
  constexpr double kMax = std::numeric_limits<double>::infinity();
  const bool null = std::isnan(v);
  Interval<double> interval = Nothing<double>();
  switch (op) {
    case AtomicOp::kEqual:
    case AtomicOp::kNotEqual:
      if (!null) interval = {LowestEqual(v), HighestEqual(v)};
      interval.with_nulls = null;
      interval.negated = op == AtomicOp::kNotEqual;
      return interval;
    case AtomicOp::kLess:
      if (!null && v > -kMax) interval = {-kMax, std::nextafter(LowestEqual(v), -kMax)};
      interval.with_nulls = !null;
      return interval;
    case AtomicOp::kLessOrEqual:
      if (!null) interval = {-kMax, HighestEqual(v)};
      interval.with_nulls = true;
      return interval;
    case AtomicOp::kGreaterThan:
      if (null) return {-kMax, kMax};
      return v < kMax ? Interval<double>{std::nextafter(HighestEqual(v), kMax), kMax} : interval;
    default:
      if (null) return {-kMax, kMax, true};
      return {LowestEqual(v), kMax};
  }
}

constexpr size_t kPart = 4096;

// Writes the numbers of the rows that are flagged and returns how many. Without a branch: every
// number is written, and kept by advancing.
template <typename T>
size_t Compact(const Block<T>& block, size_t begin, std::span<const uint8_t> flags,
               uint32_t* kept) {
  size_t count = 0;
  if (block.rows == nullptr) {
    const auto first = static_cast<uint32_t>(block.first_row + begin);
    for (uint32_t i = 0; i < flags.size(); ++i) {
      kept[count] = first + i;
      count += flags[i];
    }
  } else {
    for (size_t i = 0; i < flags.size(); ++i) {
      kept[count] = block.rows[begin + i];
      count += flags[i];
    }
  }
  return count;
}

// The rows of the slice whose element passes: in parts, first a flag for each element, which is a
// loop of vector instructions, then the numbers of those flagged.
template <typename T, typename Passes>
absl::StatusOr<RowSet> Select(const Slice& slice, Budget& budget, Passes passes) {
  RowSetBuilder kept;
  TS_RETURN_IF_ERROR(ForEachBlock<T>(slice, budget, [&](const Block<T>& block) {
    std::array<uint8_t, kPart> flags;
    std::array<uint32_t, kPart> rows;
    for (size_t begin = 0; begin < block.elements.size(); begin += kPart) {
      const std::span<const T> part =
          block.elements.subspan(begin, std::min(kPart, block.elements.size() - begin));
      for (size_t i = 0; i < part.size(); ++i) flags[i] = passes(part[i]);
      const size_t count = Compact(block, begin, std::span(flags).first(part.size()), rows.data());
      kept.Append(std::span<const uint32_t>(rows).first(count));
    }
  }));
  RowSet rows = std::move(kept).Finish();
  TS_RETURN_IF_ERROR(budget.Charge(rows.count(), sizeof(uint32_t)));
  return rows;
}

bool IsNumber(Type type) { return IsFixedWidth(type) && type != Type::kGuid; }

// The constant in the column's own unit, if it has one there: a date among timestamps, a minute
// among seconds.
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
  absl::StatusOr<Value> converted = ApplyAtomic(AtomicOp::kAdd, constant, zero, budget);
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

// The bounds that the condition sets: one for a comparison, two for `within`.
struct Bound {
  AtomicOp op;
  Value atom;
};

std::optional<std::vector<Bound>> BoundsOf(Type column, const Condition& condition,
                                           const Value& constant, Budget& budget) {
  std::vector<Bound> bounds;
  if (condition.kind == Condition::Kind::kCompare && constant.is_atom()) {
    bounds.push_back({condition.op, constant});
  } else if (condition.kind == Condition::Kind::kWithin && constant.is_vector() &&
             constant.count() == 2) {
    bounds.push_back({AtomicOp::kGreaterOrEqual, ItemAt(constant, 0)});
    bounds.push_back({AtomicOp::kLessOrEqual, ItemAt(constant, 1)});
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
        if constexpr (std::is_floating_point_v<T>) {
          const Interval<double> interval = DoubleInterval(bounds);
          return Select<T>(slice, budget, [interval](T x) { return interval.Contains(x); });
        } else if constexpr (std::is_integral_v<T>) {
          const Interval<T> interval = Narrow<T>(LongInterval(bounds));
          return Select<T>(slice, budget, [interval](T x) { return interval.Contains(x); });
        } else {
          return TypeError("an interval of guids");
        }
      });
}

// The symbols that pass, by number: what a condition on names becomes, so that no row's name is
// ever looked at.
class SymbolIdSet {
 public:
  explicit SymbolIdSet(const SymbolTable& symbols)
      : symbols_(symbols), ids_(static_cast<size_t>(symbols.size())) {}

  void Add(std::string_view name) {
    if (name.empty()) null_ = true;
    const std::optional<SymbolId> id = symbols_.Find(name);
    // A name that is newer than this set is in no row of the snapshot... nor can it be looked up.
    if (id.has_value() && *id >= 0 && static_cast<size_t>(*id) < ids_.size()) {
      ids_[static_cast<size_t>(*id)] = true;
    }
  }
  template <typename F>
  void AddIf(F passes) {
    null_ = passes(std::string_view());
    for (size_t id = 0; id < ids_.size(); ++id) {
      ids_[id] = passes(symbols_.NameOf(static_cast<SymbolId>(id)));
    }
  }
  bool Contains(SymbolId id) const {
    return id < 0 ? null_ : static_cast<size_t>(id) < ids_.size() && ids_[static_cast<size_t>(id)];
  }
  template <typename F>
  void ForEach(F f) const {
    if (null_) f(kNullSymbol);
    for (size_t id = 0; id < ids_.size(); ++id) {
      if (ids_[id]) f(static_cast<SymbolId>(id));
    }
  }

 private:
  const SymbolTable& symbols_;
  ScratchVector<uint8_t> ids_;
  bool null_ = false;
};

// nullopt: the condition is none on names.
std::optional<SymbolIdSet> SymbolsOf(const SymbolTable& symbols, const Condition& condition,
                                     const Value& constant) {
  SymbolIdSet set(symbols);
  const bool symbol = constant.type() == Type::kSymbol;
  if (condition.kind == Condition::Kind::kLike && constant.type() == Type::kChar) {
    set.AddIf([&](std::string_view name) { return MatchesPattern(name, constant.text()); });
  } else if (symbol && constant.is_atom() && condition.kind != Condition::Kind::kWithin &&
             (condition.kind == Condition::Kind::kIn || condition.op == AtomicOp::kEqual ||
              condition.op == AtomicOp::kNotEqual)) {
    set.Add(constant.symbol());
  } else if (symbol && constant.is_vector() && condition.kind == Condition::Kind::kIn) {
    for (size_t i = 0; i < constant.count(); ++i) set.Add(constant.symbols()[i]);
  } else {
    return std::nullopt;
  }
  return set;
}

// The union of several symbols' rows, ascending. A bitmap of the table when they are many, else a
// sort.
ScratchVector<uint32_t> Union(const std::vector<Postings>& lists, size_t table_rows) {
  ScratchVector<uint32_t> rows;
  for (const Postings& postings : lists) {
    for (const PostingRun& run : postings.runs) {
      rows.insert(rows.end(), run.rows.begin(), run.rows.end());
    }
  }
  if (rows.size() < table_rows / 64) {
    std::ranges::sort(rows);
    return rows;
  }
  ScratchVector<uint64_t> bits(table_rows / 64 + 1);
  for (uint32_t row : rows) bits[row / 64] |= uint64_t{1} << row % 64;
  size_t count = 0;
  for (size_t word = 0; word < bits.size(); ++word) {
    for (uint64_t left = bits[word]; left != 0; left &= left - 1) {
      rows[count++] =
          static_cast<uint32_t>(word * 64 + static_cast<size_t>(std::countr_zero(left)));
    }
  }
  return rows;
}

absl::StatusOr<RowSet> RowsFromIndex(const Snapshot& snapshot, const SymbolIdSet& set,
                                     Budget& budget) {
  std::vector<Postings> lists;
  size_t rows = 0;
  set.ForEach([&](SymbolId id) {
    std::optional<Postings> postings = snapshot.RowsOf(id);
    if (!postings.has_value() || postings->rows == 0) return;
    rows += postings->rows;
    lists.push_back(*std::move(postings));
  });
  if (lists.empty()) return RowSet();
  if (lists.size() == 1) return RowSet::OfPostings(lists[0]);
  TS_RETURN_IF_ERROR(budget.Charge(rows, sizeof(uint32_t)));
  return RowSet::Of(Union(lists, snapshot.rows()));
}

absl::StatusOr<std::optional<RowSet>> FilterSymbols(const Slice& slice, const Condition& condition,
                                                    const Value& constant, Budget& budget) {
  if (!slice.column.captured()) return std::nullopt;
  const std::optional<SymbolIdSet> set = SymbolsOf(slice.column.symbols(), condition, constant);
  if (!set.has_value()) return std::nullopt;
  const bool negated =
      condition.kind == Condition::Kind::kCompare && condition.op == AtomicOp::kNotEqual;
  const Snapshot& snapshot = slice.column.snapshot();
  const bool indexed =
      slice.IsAll() && snapshot.table().indexed_column() == static_cast<int>(slice.column.index());
  if (indexed && !negated) return RowsFromIndex(snapshot, *set, budget);
  return Select<SymbolId>(slice, budget, [&](SymbolId id) { return set->Contains(id) != negated; });
}

// The column whose values the index repeats.
bool IsIndexedTime(const Column& column) {
  return column.captured() && column.snapshot().schema().columns[column.index()].name == "time";
}

// Without a kernel: by the general operators, a block of rows at a time.
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
  TS_ASSIGN_OR_RETURN(Column whole, view.columns[column].Get(budget));
  const Slice slice{std::move(whole), std::make_shared<const RowSet>(rows)};
  if (slice.type() == Type::kSymbol) return FilterSymbols(slice, condition, constant, budget);
  if (!IsNumber(slice.type())) return std::nullopt;
  const bool by_items = condition.kind == Condition::Kind::kIn ||
                        condition.kind == Condition::Kind::kLike ||
                        (condition.kind == Condition::Kind::kCompare && !constant.is_atom());
  if (by_items) return std::nullopt;
  const std::optional<std::vector<Bound>> bounds =
      BoundsOf(slice.type(), condition, constant, budget);
  if (!bounds.has_value()) {
    // Bounds that go with the rows one by one are the evaluator's.
    if (condition.kind == Condition::Kind::kWithin && !constant.is_vector()) return std::nullopt;
    if (slice.count() == 0) return std::nullopt;  // It still has to find out about types.
    return FilterByBlocks(slice, condition, constant, budget);
  }
  if (rows.has_sorted_times() && IsIndexedTime(slice.column)) {
    const Interval<int64_t> interval = LongInterval(*bounds);
    if (!interval.negated) return rows.WithTimes(interval.lo, interval.hi);
  }
  return SelectInBounds(slice, *bounds, budget);
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
  return RowSet::Of(std::move(kept));
}

}  // namespace tickstack::query
