#include "query/kernels/atomic.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/columns/table_view.h"
#include "query/kernels/atomic_blocks.h"
#include "query/kernels/dictionary.h"
#include "query/kernels/domain_blocks.h"
#include "query/kernels/temporal.h"

// The types of x and y decide a domain, int64 or double, and for each side a conversion into the
// common unit. Then blocks of 1,024 items go through three passes in the first-level cache: load
// and convert x, load and convert y, operate and store in the result's type. Thus 18 types on
// either side need 18 loads, 18 stores and two loops an operator instead of 18 * 18 loops, and each
// is a loop over contiguous memory that the compiler vectorises.

namespace tickstack::query {
namespace {

constexpr size_t kItemsPerBlock = 1024;

enum class Unit {
  kRaw,        // The stored number.
  kNs,         // Nanoseconds, counted from 2000 for instants.
  kDays,       // Days since 2000, as a float.
  kTimeOfDay,  // Nanoseconds since midnight, cut to the unit of the other side.
  kRatio,      // A finer time of day, by multiplying with `factor`.
};

struct Conversion {
  Unit unit = Unit::kRaw;
  // The multiplier of kRatio; for kTimeOfDay the nanoseconds in a unit of the result.
  int64_t factor = 1;
};

struct Plan {
  Type result;
  bool floating = false;  // True if the domain is double.
  Conversion x, y;
};

int64_t Convert(const Conversion& conversion, Type type, int64_t value) {
  if (value == kNullLong) return value;
  switch (conversion.unit) {
    case Unit::kNs:
      return ToNs(type, value);
    case Unit::kTimeOfDay:
      return TimeOfDayNs(ToNs(type, value)) / conversion.factor;
    case Unit::kRatio:
      return SaturatingMultiply(value, conversion.factor);
    case Unit::kRaw:
    case Unit::kDays:
      break;
  }
  return value;
}

double DaysOf(Type type, double value) {
  if (type == Type::kDatetime) return value;
  if (type == Type::kMonth) {
    const int64_t days =
        NsOfMonth(LongOf(value)) / kNsPerDay;  // Is whole, because a month begins at midnight.
    return static_cast<double>(days);
  }
  return value * (static_cast<double>(UnitNs(type)) / static_cast<double>(kNsPerDay));
}

// One side of an operation: an atom, which fills its block once, or a vector.
template <typename D>
class Operand {
 public:
  Operand(const Value& value, Conversion conversion) : value_(value), conversion_(conversion) {
    if (value.is_atom()) {
      Fill(0, 1);
      std::fill(block_.begin() + 1, block_.end(), block_[0]);
    }
  }
  const D* Load(size_t begin, size_t n) {
    if (!value_.is_atom()) Fill(begin, n);
    return block_.data();
  }

 private:
  void Fill(size_t begin, size_t n) {
    const Type type = value_.type();
    VisitElementType(type, [&]<typename T>(std::type_identity<T>) {
      if constexpr (!std::is_same_v<T, Guid>) {
        const T* elements = value_.span<T>().data() + begin;
        for (size_t i = 0; i < n; ++i) block_[i] = Widen(type, elements[i]);
      }
    });
    if (conversion_.unit == Unit::kRaw) return;
    for (size_t i = 0; i < n; ++i) {
      if constexpr (std::is_same_v<D, double>) {
        if (conversion_.unit == Unit::kDays) block_[i] = DaysOf(type, block_[i]);
      } else {
        // Loading has scaled a datetime to nanoseconds.
        const Type unit = type == Type::kDatetime ? Type::kTimestamp : type;
        block_[i] = Convert(conversion_, unit, block_[i]);
      }
    }
  }

  template <typename T>
  D Widen(Type type, T element) const {
    if constexpr (std::is_same_v<D, double>) {
      if constexpr (std::is_floating_point_v<T>)
        return element;
      else
        return IsNull(type, element) ? NullElement<double>(Type::kFloat) : static_cast<D>(element);
    } else if constexpr (std::is_floating_point_v<T>) {
      const bool instant = type == Type::kDatetime && conversion_.unit != Unit::kRaw;
      return LongOf(instant ? element * static_cast<double>(kNsPerDay) : double{element});
    } else {
      return IsNull(type, element) ? kNullLong : static_cast<D>(element);
    }
  }
  // When chars are compared or computed with, a blank is a char like others.
  template <typename T>
  static bool IsNull(Type type, T element) {
    return !std::is_same_v<T, uint8_t> && IsNullElement(type, element);
  }

  const Value& value_;
  Conversion conversion_;
  std::array<D, kItemsPerBlock> block_;
};

Conversion InstantAgainst(Type time_of_day) { return {Unit::kTimeOfDay, UnitNs(time_of_day)}; }

// Plans an operation on two different temporal types.
void PlanMixedTemporals(Plan& plan, Type x, Type y) {
  const bool datetime = x == Type::kDatetime || y == Type::kDatetime;
  if (IsInstant(x) && IsTimeOfDay(y)) {
    plan.x = InstantAgainst(y);
  } else if (IsTimeOfDay(x) && IsInstant(y)) {
    plan.y = InstantAgainst(x);
  } else if (datetime) {
    plan.floating = true;
    plan.x.unit = plan.y.unit = Unit::kDays;
  } else {
    plan.x.unit = plan.y.unit = Unit::kNs;
  }
}

Conversion IntoResult(Type type, Type result) {
  if (!IsTemporal(type) || !IsTemporal(result) || type == result) return {};
  if (result == Type::kDatetime) return {Unit::kDays};
  if (UnitNs(result) == 1) return {Unit::kNs};
  if (IsInstant(type) && IsTimeOfDay(result)) return InstantAgainst(result);
  if (UnitNs(result) == 0 || UnitNs(type) < UnitNs(result)) return {};
  return {Unit::kRatio, UnitNs(type) / UnitNs(result)};
}

absl::StatusOr<Plan> MakePlan(AtomicOp any_op, Type x, Type y) {
  const std::optional<Type> result = ResultType(any_op, x, y);
  if (!result.has_value()) return TypeError("{} and {}", NameOf(x), NameOf(y));
  Plan plan{*result, false, {}, {}};
  if (std::holds_alternative<Comparison>(any_op)) {
    plan.floating = IsFloating(x) || IsFloating(y);
    if (x != y && IsTemporal(x) && IsTemporal(y)) {
      plan.floating = false;
      PlanMixedTemporals(plan, x, y);
    }
    return plan;
  }
  const auto op = std::get<Arithmetic>(any_op);
  const bool choice =
      op == Arithmetic::kLesser || op == Arithmetic::kGreater || op == Arithmetic::kFill;
  plan.floating = IsFloating(*result) || (choice && (IsFloating(x) || IsFloating(y)));
  // Quotients and remainders are those of the underlying values.
  if (op == Arithmetic::kDivide || op == Arithmetic::kPower || op == Arithmetic::kLogarithm)
    return plan;
  if (IsWholeDivision(op)) {
    plan.floating = IsFloating(x) || IsFloating(y);
    return plan;
  }
  plan.x = IntoResult(x, *result);
  plan.y = IntoResult(y, *result);
  // A datetime stays in days here: loading scales it to nanoseconds.
  if (choice && plan.floating && !IsFloating(*result)) plan.x = plan.y = {};
  return plan;
}

size_t ResultCount(const Value& x, const Value& y) { return x.is_atom() ? y.count() : x.count(); }

Value AtomIf(bool atom, Value vector) {
  if (atom) return ItemAt(vector, 0);
  return vector;
}

template <typename D>
absl::StatusOr<Value> RunCompare(Comparison op, const Plan& plan, const Value& x, const Value& y,
                                 Budget& budget) {
  const size_t n = ResultCount(x, y);
  VectorWriter<uint8_t> out(Type::kBoolean, n);
  Operand<D> left(x, plan.x), right(y, plan.y);
  for (size_t at = 0; at < n; at += kItemsPerBlock) {
    if (at % (kItemsPerBlock * 256) == 0) TS_RETURN_IF_ERROR(budget.CheckTime());
    const size_t block = std::min(kItemsPerBlock, n - at);
    const D* a = left.Load(at, block);
    CompareBlock(op, a, right.Load(at, block), out.data() + at, block);
  }
  return AtomIf(x.is_atom() && y.is_atom(), std::move(out).Finish());
}

template <typename D>
absl::StatusOr<Value> RunArithmetic(Arithmetic op, const Plan& plan, const Value& x, const Value& y,
                                    Budget& budget) {
  const size_t n = ResultCount(x, y);
  return VisitElementType(
      plan.result, [&]<typename T>(std::type_identity<T>) -> absl::StatusOr<Value> {
        if constexpr (std::is_same_v<T, Guid>) {
          return TypeError("arithmetic of guids");
        } else {
          VectorWriter<T> out(plan.result, n);
          Operand<D> left(x, plan.x), right(y, plan.y);
          std::array<D, kItemsPerBlock> results;
          for (size_t at = 0; at < n; at += kItemsPerBlock) {
            if (at % (kItemsPerBlock * 256) == 0) TS_RETURN_IF_ERROR(budget.CheckTime());
            const size_t block = std::min(kItemsPerBlock, n - at);
            const D* a = left.Load(at, block);
            ArithmeticBlock(op, a, right.Load(at, block), results.data(), block);
            StoreBlock(plan.result, results.data(), out.data() + at, block);
          }
          return AtomIf(x.is_atom() && y.is_atom(), std::move(out).Finish());
        }
      });
}

bool CompareOrder(Comparison op, int order) {
  switch (op) {
    case Comparison::kEqual:
      return order == 0;
    case Comparison::kNotEqual:
      return order != 0;
    case Comparison::kLess:
      return order < 0;
    case Comparison::kGreaterThan:
      return order > 0;
    case Comparison::kLessOrEqual:
      return order <= 0;
    case Comparison::kGreaterOrEqual:
      return order >= 0;
  }
  TS_CHECK(false);
}

// Compares symbols and guids, which are not numbers.
Value CompareNames(Comparison op, const Value& x, const Value& y) {
  const auto name_at = [](const Value& value, size_t i) {
    if (value.type() == Type::kSymbol) return value.is_atom() ? value.symbol() : value.symbols()[i];
    const std::span<const std::byte> bytes = value.elements();
    return AsText(value.is_atom() ? bytes : bytes.subspan(16 * i, 16));
  };
  const size_t n = ResultCount(x, y);
  VectorWriter<uint8_t> out(Type::kBoolean, n);
  for (size_t i = 0; i < n; ++i) {
    out.data()[i] = CompareOrder(op, name_at(x, i).compare(name_at(y, i)));
  }
  return AtomIf(x.is_atom() && y.is_atom(), std::move(out).Finish());
}

// Returns y with x in place of its nulls; both have one type. Names and chars have nulls as well.
absl::StatusOr<Value> FillSameType(const Value& x, const Value& y, Budget& budget) {
  const size_t n = ResultCount(x, y);
  if (x.type() == Type::kSymbol) {
    const auto name_at = [](const Value& value, size_t i) {
      return value.is_atom() ? value.symbol() : value.symbols()[i];
    };
    const auto filled = [&](size_t i) {
      return name_at(y, i).empty() ? name_at(x, i) : name_at(y, i);
    };
    size_t bytes = 0;
    for (size_t i = 0; i < n; ++i) bytes += filled(i).size() + 1;
    TS_RETURN_IF_ERROR(budget.Charge(bytes));
    TS_RETURN_IF_ERROR(budget.Charge(n, sizeof(size_t)));
    SymbolVector names;
    names.reserve(n, bytes);
    for (size_t i = 0; i < n; ++i) names.push_back(filled(i));
    return AtomIf(x.is_atom() && y.is_atom(), Value::Symbols(std::move(names)));
  }
  const Type type = x.type();
  TS_RETURN_IF_ERROR(budget.Charge(n, WidthOf(type)));
  return VisitElementType(type, [&]<typename T>(std::type_identity<T>) {
    const std::span<const T> of_x = x.span<T>(), of_y = y.span<T>();
    VectorWriter<T> out(type, n);
    for (size_t i = 0; i < n; ++i) {
      const T& element = of_y[y.is_atom() ? 0 : i];
      out.data()[i] = IsNullElement(type, element) ? of_x[x.is_atom() ? 0 : i] : element;
    }
    return AtomIf(x.is_atom() && y.is_atom(), std::move(out).Finish());
  });
}

absl::StatusOr<Value> ApplySimple(AtomicOp op, const Value& x, const Value& y, Budget& budget) {
  if (op == AtomicOp(Arithmetic::kFill)) {
    if (x.type() == y.type()) return FillSameType(x, y, budget);
    if (y.type() == Type::kChar) return NyiError("^ of a number and text");
  }
  TS_ASSIGN_OR_RETURN(const Plan plan, MakePlan(op, x.type(), y.type()));
  TS_RETURN_IF_ERROR(budget.Charge(ResultCount(x, y), WidthOf(plan.result)));
  if (const auto* const comparison = std::get_if<Comparison>(&op)) {
    if (x.type() == Type::kSymbol || x.type() == Type::kGuid)
      return CompareNames(*comparison, x, y);
    return plan.floating ? RunCompare<double>(*comparison, plan, x, y, budget)
                         : RunCompare<int64_t>(*comparison, plan, x, y, budget);
  }
  const auto arithmetic = std::get<Arithmetic>(op);
  return plan.floating ? RunArithmetic<double>(arithmetic, plan, x, y, budget)
                       : RunArithmetic<int64_t>(arithmetic, plan, x, y, budget);
}

bool IsSimple(const Value& value) { return value.is_atom() || value.is_vector(); }

absl::StatusOr<Value> ApplyNested(AtomicOp op, const Value& x, const Value& y, Budget& budget,
                                  int depth);

absl::StatusOr<Value> ApplyToItems(AtomicOp op, const Value& x, const Value& y, Budget& budget,
                                   int depth) {
  const size_t n = ResultCount(x, y);
  TS_RETURN_IF_ERROR(budget.ChargeItems(n));
  std::vector<Value> items;
  for (size_t i = 0; i < n; ++i) {
    const Value left = x.is_atom() ? x : ItemAt(x, i), right = y.is_atom() ? y : ItemAt(y, i);
    TS_ASSIGN_OR_RETURN(Value item, ApplyNested(op, left, right, budget, depth + 1));
    items.push_back(std::move(item));
  }
  return Collapse(std::move(items));
}

Unpaired UnpairedOf(AtomicOp op) {
  if (std::holds_alternative<Comparison>(op)) return Unpaired::kWithNull;
  return op == AtomicOp(Arithmetic::kSubtract) ? Unpaired::kWithZero : Unpaired::kKept;
}

absl::StatusOr<Value> ApplyToDict(AtomicOp op, const Value& x, const Value& y, Budget& budget,
                                  int depth) {
  if (x.is_dict() && y.is_dict()) {
    return CombineDicts(
        x, y, UnpairedOf(op),
        [&](const Value& a, const Value& b) { return ApplyNested(op, a, b, budget, depth + 1); },
        budget);
  }
  const Value& dict = x.is_dict() ? x : y;
  if ((x.is_dict() ? y : x).is_table()) return TypeError("a dictionary and a table");
  absl::StatusOr<Value> values = x.is_dict() ? ApplyNested(op, x.values(), y, budget, depth + 1)
                                             : ApplyNested(op, x, y.values(), budget, depth + 1);
  TS_RETURN_IF_ERROR(values.status());
  if (values->is_atom() || values->count() != dict.keys().count()) {
    return LengthError("a dictionary of {} keys", dict.keys().count());
  }
  return Value::Dict(dict.keys(), *std::move(values));
}

// Applies an operator to each column: with the same column of another table, or with all of the
// other side.
absl::StatusOr<Value> ApplyToTable(AtomicOp op, const Value& x, const Value& y, Budget& budget,
                                   int depth) {
  const auto apply = [&](const Value& a, const Value& b) {
    return ApplyNested(op, a, b, budget, depth + 1);
  };
  if (x.is_table() && y.is_table()) return CombineTables(x, y, apply, budget);
  const Value& table = x.is_table() ? x : y;
  TS_RETURN_IF_ERROR(CheckTable(table));
  std::vector<Value> columns;
  for (const Value& column : table.columns()) {
    TS_ASSIGN_OR_RETURN(columns.emplace_back(), x.is_table() ? apply(column, y) : apply(x, column));
  }
  return Value::Table(table.column_names(), std::move(columns));
}

absl::StatusOr<Value> ApplyNested(AtomicOp op, const Value& x, const Value& y, Budget& budget,
                                  int depth) {
  if (depth > kMaxListDepth) return StackError("lists more than {} deep", kMaxListDepth);
  if (x.is_dict() || y.is_dict()) return ApplyToDict(op, x, y, budget, depth);
  if (x.is_table() || y.is_table()) return ApplyToTable(op, x, y, budget, depth);
  for (const Value* side : {&x, &y}) {
    if (!IsSimple(*side) && !side->is_list()) return TypeError("a {}", NameOf(side->type()));
  }
  if (!x.is_atom() && !y.is_atom() && x.count() != y.count()) {
    return LengthError("{} items and {} items", x.count(), y.count());
  }
  if (IsSimple(x) && IsSimple(y)) return ApplySimple(op, x, y, budget);
  return ApplyToItems(op, x, y, budget, depth);
}

}  // namespace

absl::StatusOr<Value> ApplyAtomic(AtomicOp op, const Value& x, const Value& y, Budget& budget) {
  return ApplyNested(op, x, y, budget, 0);
}

}  // namespace tickstack::query
