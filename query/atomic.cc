#include "query/atomic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "base/time.h"
#include "query/elements.h"
#include "query/errors.h"

// How it works. The types of x and y decide a domain, int64 or double, and for each side a
// conversion into the common unit. Then blocks of 1,024 items go through three passes in the
// first-level cache: load and convert x, load and convert y, operate and store in the result's
// type. So 18 types on either side need 18 loads, 18 stores and two loops an operator, not 18 * 18
// loops, and each of them is a loop over contiguous memory that the compiler turns into vector
// code.

namespace tickstack::query {
namespace {

constexpr size_t kBlock = 1024;
constexpr int kMaxListDepth = 100;

enum class Unit {
  kRaw,        // The number that is stored.
  kNs,         // Nanoseconds, since 2000 for instants.
  kDays,       // Days since 2000, as a float.
  kTimeOfDay,  // Nanoseconds since midnight, cut to the other side's unit.
  kRatio,      // Into a finer time of day: multiplied by `factor`.
};

struct Conversion {
  Unit unit = Unit::kRaw;
  int64_t factor = 1;  // kRatio: multiplied by; kTimeOfDay: what a unit of the result has of ns.
};

struct Plan {
  Type result;
  bool floating = false;  // The domain.
  Conversion x, y;
};

int64_t SaturatingMultiply(int64_t value, int64_t factor) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(value, factor, &product)) return product;
  return value < 0 ? -kInfinityLong : kInfinityLong;
}

int64_t LongOf(double value) {
  if (std::isnan(value)) return kNullLong;
  if (value >= 0x1p63) return kInfinityLong;
  if (value <= -0x1p63) return -kInfinityLong;
  return std::llrint(value);
}

int64_t NsOfMonth(int64_t month) {
  if (month < -200 * 12 || month > 200 * 12) return month < 0 ? -kInfinityLong : kInfinityLong;
  const int64_t year = month >= 0 ? month / 12 : -((11 - month) / 12);
  const int64_t day =
      DaysFromCivil(static_cast<int>(2000 + year), static_cast<int>(month - year * 12 + 1), 1);
  return day * kNsPerDay;
}

int64_t ToNs(Type type, int64_t value) {
  if (value == kNullLong) return value;
  if (type == Type::kMonth) return NsOfMonth(value);
  return SaturatingMultiply(value, UnitNs(type));
}

int64_t TimeOfDayNs(int64_t ns) {
  const int64_t of_day = ns % kNsPerDay;
  return of_day < 0 ? of_day + kNsPerDay : of_day;
}

int64_t Convert(const Conversion& conversion, Type type, int64_t value) {
  if (value == kNullLong) return value;
  switch (conversion.unit) {
    case Unit::kNs:
      return ToNs(type, value);
    case Unit::kTimeOfDay:
      return TimeOfDayNs(ToNs(type, value)) / conversion.factor;
    case Unit::kRatio:
      return SaturatingMultiply(value, conversion.factor);
    default:
      return value;
  }
}

double DaysOf(Type type, double value) {
  if (type == Type::kDatetime) return value;
  if (type == Type::kMonth) {
    const int64_t days =
        NsOfMonth(LongOf(value)) / kNsPerDay;  // Whole: a month begins at midnight.
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
        // A datetime was scaled to nanoseconds when it was loaded.
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
  // A blank is a char like others when chars are compared or counted with.
  template <typename T>
  static bool IsNull(Type type, T element) {
    return !std::is_same_v<T, uint8_t> && IsNullElement(type, element);
  }

  const Value& value_;
  Conversion conversion_;
  std::array<D, kBlock> block_;
};

Conversion InstantAgainst(Type time_of_day) { return {Unit::kTimeOfDay, UnitNs(time_of_day)}; }

// Both are temporal and differ.
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

absl::StatusOr<Plan> MakePlan(AtomicOp op, Type x, Type y) {
  const std::optional<Type> result = ResultType(op, x, y);
  if (!result.has_value()) return TypeError("{} and {}", NameOf(x), NameOf(y));
  Plan plan{*result, false, {}, {}};
  if (IsComparison(op)) {
    plan.floating = IsFloating(x) || IsFloating(y);
    if (x != y && IsTemporal(x) && IsTemporal(y)) {
      plan.floating = false;
      PlanMixedTemporals(plan, x, y);
    }
    return plan;
  }
  const bool choice = op == AtomicOp::kLesser || op == AtomicOp::kGreater;
  plan.floating = IsFloating(*result) || (choice && (IsFloating(x) || IsFloating(y)));
  if (op == AtomicOp::kDivide) return plan;  // Of the underlying values.
  plan.x = IntoResult(x, *result);
  plan.y = IntoResult(y, *result);
  // Days stand for a datetime; into nanoseconds it is scaled while it is loaded.
  if (choice && plan.floating && !IsFloating(*result)) plan.x = plan.y = {};
  return plan;
}

bool IsNull(int64_t value) { return value == kNullLong; }
bool IsNull(double value) { return std::isnan(value); }

template <typename D>
bool Less(D a, D b) {
  if constexpr (std::is_same_v<D, double>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
    return a < b && !TolerantlyEqual(a, b);
  } else {
    return a < b;
  }
}
template <typename D>
bool Equal(D a, D b) {
  if constexpr (std::is_same_v<D, double>)
    return TolerantlyEqual(a, b);
  else
    return a == b;
}

int64_t Wrapping(AtomicOp op, int64_t a, int64_t b) {
  const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  switch (op) {
    case AtomicOp::kAdd:
      return static_cast<int64_t>(ua + ub);
    case AtomicOp::kSubtract:
      return static_cast<int64_t>(ua - ub);
    default:
      return static_cast<int64_t>(ua * ub);
  }
}

template <typename D, typename F>
void Loop(const D* a, const D* b, D* out, size_t n, F f) {
  for (size_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
}

void Arithmetic(AtomicOp op, const int64_t* a, const int64_t* b, int64_t* out, size_t n) {
  const auto with_nulls = [&](auto f) {
    Loop(a, b, out, n,
         [f](int64_t x, int64_t y) { return IsNull(x) || IsNull(y) ? kNullLong : f(x, y); });
  };
  switch (op) {
    case AtomicOp::kAdd:
      return with_nulls([](int64_t x, int64_t y) { return Wrapping(AtomicOp::kAdd, x, y); });
    case AtomicOp::kSubtract:
      return with_nulls([](int64_t x, int64_t y) { return Wrapping(AtomicOp::kSubtract, x, y); });
    case AtomicOp::kMultiply:
      return with_nulls([](int64_t x, int64_t y) { return Wrapping(AtomicOp::kMultiply, x, y); });
    case AtomicOp::kLesser:
      return Loop(a, b, out, n, [](int64_t x, int64_t y) { return std::min(x, y); });
    default:
      return Loop(a, b, out, n, [](int64_t x, int64_t y) { return std::max(x, y); });
  }
}

void Arithmetic(AtomicOp op, const double* a, const double* b, double* out, size_t n) {
  switch (op) {
    case AtomicOp::kAdd:
      return Loop(a, b, out, n, std::plus<double>());
    case AtomicOp::kSubtract:
      return Loop(a, b, out, n, std::minus<double>());
    case AtomicOp::kMultiply:
      return Loop(a, b, out, n, std::multiplies<double>());
    case AtomicOp::kDivide:
      return Loop(a, b, out, n, std::divides<double>());
    case AtomicOp::kLesser:
      return Loop(a, b, out, n, [](double x, double y) { return Less(y, x) ? y : x; });
    default:
      return Loop(a, b, out, n, [](double x, double y) { return Less(x, y) ? y : x; });
  }
}

template <typename D, typename F>
void Flag(const D* a, const D* b, uint8_t* out, size_t n, F f) {
  for (size_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
}

template <typename D>
void Compare(AtomicOp op, const D* a, const D* b, uint8_t* out, size_t n) {
  switch (op) {
    case AtomicOp::kEqual:
      return Flag(a, b, out, n, [](D x, D y) { return Equal(x, y); });
    case AtomicOp::kNotEqual:
      return Flag(a, b, out, n, [](D x, D y) { return !Equal(x, y); });
    case AtomicOp::kLess:
      return Flag(a, b, out, n, [](D x, D y) { return Less(x, y); });
    case AtomicOp::kGreaterThan:
      return Flag(a, b, out, n, [](D x, D y) { return Less(y, x); });
    case AtomicOp::kLessOrEqual:
      return Flag(a, b, out, n, [](D x, D y) { return !Less(y, x); });
    default:
      return Flag(a, b, out, n, [](D x, D y) { return !Less(x, y); });
  }
}

// Stores the domain's values in the result's type: nulls as its null, integers cut to its width.
template <typename T, typename D>
void Store(Type type, const D* from, T* to, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    if constexpr (std::is_floating_point_v<T>) {
      to[i] = IsNull(from[i]) ? NullElement<T>(type) : static_cast<T>(from[i]);
    } else if constexpr (std::is_same_v<D, double>) {
      to[i] = IsNull(from[i]) ? NullElement<T>(type) : static_cast<T>(LongOf(from[i]));
    } else {
      to[i] = IsNull(from[i]) ? NullElement<T>(type) : static_cast<T>(from[i]);
    }
  }
}

size_t ResultCount(const Value& x, const Value& y) { return x.is_atom() ? y.count() : x.count(); }

Value AtomIf(bool atom, Value vector) {
  if (atom) return ItemAt(vector, 0);
  return vector;
}

template <typename D>
absl::StatusOr<Value> RunCompare(AtomicOp op, const Plan& plan, const Value& x, const Value& y,
                                 Budget& budget) {
  const size_t n = ResultCount(x, y);
  VectorWriter<uint8_t> out(Type::kBoolean, n);
  Operand<D> left(x, plan.x), right(y, plan.y);
  for (size_t at = 0; at < n; at += kBlock) {
    if (at % (kBlock * 256) == 0) TS_RETURN_IF_ERROR(budget.CheckTime());
    const size_t block = std::min(kBlock, n - at);
    const D* a = left.Load(at, block);
    Compare(op, a, right.Load(at, block), out.data() + at, block);
  }
  return AtomIf(x.is_atom() && y.is_atom(), std::move(out).Finish());
}

template <typename D>
absl::StatusOr<Value> RunArithmetic(AtomicOp op, const Plan& plan, const Value& x, const Value& y,
                                    Budget& budget) {
  const size_t n = ResultCount(x, y);
  return VisitElementType(plan.result,
                          [&]<typename T>(std::type_identity<T>) -> absl::StatusOr<Value> {
                            if constexpr (std::is_same_v<T, Guid>) {
                              return TypeError("arithmetic of guids");
                            } else {
                              VectorWriter<T> out(plan.result, n);
                              Operand<D> left(x, plan.x), right(y, plan.y);
                              std::array<D, kBlock> results;
                              for (size_t at = 0; at < n; at += kBlock) {
                                if (at % (kBlock * 256) == 0)
                                  TS_RETURN_IF_ERROR(budget.CheckTime());
                                const size_t block = std::min(kBlock, n - at);
                                const D* a = left.Load(at, block);
                                Arithmetic(op, a, right.Load(at, block), results.data(), block);
                                Store(plan.result, results.data(), out.data() + at, block);
                              }
                              return AtomIf(x.is_atom() && y.is_atom(), std::move(out).Finish());
                            }
                          });
}

bool CompareOrder(AtomicOp op, int order) {
  switch (op) {
    case AtomicOp::kEqual:
      return order == 0;
    case AtomicOp::kNotEqual:
      return order != 0;
    case AtomicOp::kLess:
      return order < 0;
    case AtomicOp::kGreaterThan:
      return order > 0;
    case AtomicOp::kLessOrEqual:
      return order <= 0;
    default:
      return order >= 0;
  }
}

// Symbols and guids, which are not numbers.
Value CompareNames(AtomicOp op, const Value& x, const Value& y) {
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

absl::StatusOr<Value> ApplySimple(AtomicOp op, const Value& x, const Value& y, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const Plan plan, MakePlan(op, x.type(), y.type()));
  TS_RETURN_IF_ERROR(budget.Charge(ResultCount(x, y), WidthOf(plan.result)));
  if (IsComparison(op)) {
    if (x.type() == Type::kSymbol || x.type() == Type::kGuid) return CompareNames(op, x, y);
    return plan.floating ? RunCompare<double>(op, plan, x, y, budget)
                         : RunCompare<int64_t>(op, plan, x, y, budget);
  }
  return plan.floating ? RunArithmetic<double>(op, plan, x, y, budget)
                       : RunArithmetic<int64_t>(op, plan, x, y, budget);
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

absl::StatusOr<Value> ApplyToDict(AtomicOp op, const Value& x, const Value& y, Budget& budget,
                                  int depth) {
  if (x.is_dict() && y.is_dict()) return NyiError("operator on two dictionaries");
  const Value& dict = x.is_dict() ? x : y;
  if (!IsSimple(dict.values()) && !dict.values().is_list()) return NyiError("operator on a table");
  absl::StatusOr<Value> values = x.is_dict() ? ApplyNested(op, x.values(), y, budget, depth + 1)
                                             : ApplyNested(op, x, y.values(), budget, depth + 1);
  TS_RETURN_IF_ERROR(values.status());
  if (values->is_atom() || values->count() != dict.keys().count()) {
    return LengthError("a dictionary of {} keys", dict.keys().count());
  }
  return Value::Dict(dict.keys(), *std::move(values));
}

absl::StatusOr<Value> ApplyNested(AtomicOp op, const Value& x, const Value& y, Budget& budget,
                                  int depth) {
  if (depth > kMaxListDepth) return StackError("lists more than {} deep", kMaxListDepth);
  if (x.is_table() || y.is_table()) return NyiError("operator on a table");
  if (x.is_dict() || y.is_dict()) return ApplyToDict(op, x, y, budget, depth);
  for (const Value* side : {&x, &y}) {
    if (!IsSimple(*side) && !side->is_list()) return TypeError("a {}", NameOf(side->type()));
  }
  if (!x.is_atom() && !y.is_atom() && x.count() != y.count()) {
    return LengthError("{} items and {} items", x.count(), y.count());
  }
  if (IsSimple(x) && IsSimple(y)) return ApplySimple(op, x, y, budget);
  return ApplyToItems(op, x, y, budget, depth);
}

// Calls f(vector) for a vector or atom (as a vector of one), and goes down into lists and
// dictionaries.
template <typename F>
absl::StatusOr<Value> MapSimple(const Value& x, Budget& budget, F f, int depth = 0) {
  if (depth > kMaxListDepth) return StackError("lists more than {} deep", kMaxListDepth);
  if (x.is_atom()) {
    TS_ASSIGN_OR_RETURN(const Value one, MapSimple(Enlist(x), budget, f, depth));
    return ItemAt(one, 0);
  }
  if (x.is_vector()) return f(x);
  if (x.is_dict() && !x.values().is_table()) {
    TS_ASSIGN_OR_RETURN(Value values, MapSimple(x.values(), budget, f, depth + 1));
    return Value::Pair(Type::kDict, Attribute::kNone, x.keys(), std::move(values));
  }
  if (!x.is_list()) return NyiError(fmt::format("function on a {}", NameOf(x.type())));
  TS_RETURN_IF_ERROR(budget.ChargeItems(x.count()));
  std::vector<Value> items;
  for (const Value& item : x.items()) {
    TS_ASSIGN_OR_RETURN(Value mapped, MapSimple(item, budget, f, depth + 1));
    items.push_back(std::move(mapped));
  }
  return Collapse(std::move(items));
}

// The flags of a vector's elements by f(type, element).
template <typename F>
absl::StatusOr<Value> FlagsOf(const Value& vector, Budget& budget, F f) {
  TS_RETURN_IF_ERROR(budget.Charge(vector.count()));
  VectorWriter<uint8_t> out(Type::kBoolean, vector.count());
  VisitElementType(vector.type(), [&]<typename T>(std::type_identity<T>) {
    std::ranges::transform(vector.span<T>(), out.data(),
                           [&](const T& element) { return uint8_t{f(vector.type(), element)}; });
  });
  return std::move(out).Finish();
}

}  // namespace

absl::StatusOr<Value> ApplyAtomic(AtomicOp op, const Value& x, const Value& y, Budget& budget) {
  return ApplyNested(op, x, y, budget, 0);
}

absl::StatusOr<Value> NullFlags(const Value& x, Budget& budget) {
  return MapSimple(x, budget, [&](const Value& vector) -> absl::StatusOr<Value> {
    if (vector.is(Type::kSymbol)) {
      return ApplyAtomic(AtomicOp::kEqual, vector, Value::Symbol(""), budget);
    }
    return FlagsOf(vector, budget, []<typename T>(Type type, const T& element) {
      return IsNullElement(type, element);
    });
  });
}

absl::StatusOr<Value> NotFlags(const Value& x, Budget& budget) {
  return MapSimple(x, budget, [&](const Value& vector) -> absl::StatusOr<Value> {
    if (vector.is(Type::kSymbol)) return TypeError("not of symbols");
    return FlagsOf(vector, budget,
                   []<typename T>(Type, const T& element) { return element == T{}; });
  });
}

absl::StatusOr<Value> Negate(const Value& x, Budget& budget) {
  return MapSimple(x, budget, [&](const Value& vector) -> absl::StatusOr<Value> {
    const Type type = vector.type();
    if (!SumType(type).has_value()) return TypeError("neg of {}", NameOf(type));
    // Subtraction from an int keeps every type that has a sign and widens the narrow ones, as
    // `neg`.
    if (type == Type::kShort) {
      VectorWriter<int16_t> out(type, vector.count());
      std::ranges::transform(vector.span<int16_t>(), out.data(), [](int16_t element) {
        return static_cast<int16_t>(-element);  // The null is its own negative.
      });
      return std::move(out).Finish();
    }
    const Value zero = type == Type::kReal ? Value::Real(0) : Value::Int(0);
    return ApplyAtomic(AtomicOp::kSubtract, zero, vector, budget);
  });
}

absl::StatusOr<Value> Absolute(const Value& x, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const Value negative, Negate(x, budget));
  return ApplyAtomic(AtomicOp::kGreater, x, negative, budget);
}

}  // namespace tickstack::query
