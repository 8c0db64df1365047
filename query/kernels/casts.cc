#include "query/kernels/casts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "query/columns/errors.h"
#include "query/columns/gather.h"
#include "query/kernels/temporal.h"
#include "query/kernels/text_values.h"
#include "query/kernels/time_blocks.h"

namespace tickstack::query {
namespace {

// Cuts a wider number to a narrower type: too large ones become infinities, never the null.
template <typename To, typename From>
To Saturate(From value) {
  constexpr To kInfinity = std::numeric_limits<To>::max();
  if (value > From{kInfinity}) return kInfinity;
  if (value < From{-kInfinity}) return -kInfinity;
  return static_cast<To>(value);
}

// Rounds to the nearest whole number, halves up.
double Rounded(double value) {
  const double below = std::floor(value);
  return value - below >= 0.5 ? below + 1 : below;
}

// Converts the number behind an item into the number behind another type.
template <typename To, typename From>
To ConvertNumber(Type from, Type to, From x) {
  if constexpr (std::is_same_v<To, uint8_t>) {
    if (to == Type::kBoolean) return x != From{0};
    if constexpr (std::is_floating_point_v<From>) {
      return static_cast<uint8_t>(LongOf(Rounded(x)));
    } else {
      return static_cast<uint8_t>(x);
    }
  } else {
    // Booleans, bytes and chars have no null: a blank is the number 32.
    if (!std::is_same_v<From, uint8_t> && IsNullElement(from, x)) return NullElement<To>(to);
    if constexpr (std::is_floating_point_v<To>) {
      return static_cast<To>(x);
    } else if constexpr (std::is_floating_point_v<From>) {
      return Saturate<To>(LongOf(Rounded(x)));
    } else if constexpr (sizeof(To) < sizeof(From)) {
      return Saturate<To>(x);
    } else {
      return static_cast<To>(x);
    }
  }
}

template <typename To, typename From>
absl::StatusOr<Value> ConvertNumbers(const Slice& slice, Type to, Budget& budget) {
  TS_RETURN_IF_ERROR(budget.Charge(slice.count(), sizeof(To)));
  VectorWriter<To> out(to, slice.count());
  To* at = out.data();
  TS_RETURN_IF_ERROR(ForEachBlock<From>(slice, budget, [&](const Block<From>& block) {
    at = std::ranges::transform(block.elements, at, [&](From x) {
           return ConvertNumber<To>(slice.type(), to, x);
         }).out;
  }));
  return std::move(out).Finish();
}

// Calls f(ns) for each item and stores the result as T; nulls stay nulls.
template <typename T, typename F>
absl::StatusOr<Value> ConvertTimes(const Slice& slice, Type to, Budget& budget, F f) {
  TS_RETURN_IF_ERROR(budget.Charge(slice.count(), sizeof(T)));
  VectorWriter<T> out(to, slice.count());
  T* at = out.data();
  TS_RETURN_IF_ERROR(ForEachTimeBlock(slice, budget, [&](std::span<const int64_t> times) {
    at = std::ranges::transform(times, at, [&](int64_t ns) {
           return ns == kNullLong ? NullElement<T>(to) : f(ns);
         }).out;
  }));
  return std::move(out).Finish();
}

int32_t MonthOf(int64_t ns) {
  const Civil civil = CivilFromDays(DayOf(ns));
  return (civil.year - 2000) * 12 + civil.month - 1;
}

// Converts one temporal type to another.
absl::StatusOr<Value> ConvertTemporal(const Slice& slice, Type to, Budget& budget) {
  const Type from = slice.type();
  const bool instant = IsInstant(from);
  const auto clock = [instant](int64_t ns) { return instant ? TimeOfDayNs(ns) : ns; };
  // Divides by constants in each case, so that the compiler makes multiplications of them.
  if (to == Type::kTimestamp) {
    return ConvertTimes<int64_t>(slice, to, budget, [](int64_t ns) { return ns; });
  }
  if (to == Type::kTimespan) return ConvertTimes<int64_t>(slice, to, budget, clock);
  if (to == Type::kMinute) {
    return ConvertTimes<int32_t>(slice, to, budget, [&](int64_t ns) {
      return Saturate<int32_t>(FloorDivide(clock(ns), 60 * kNsPerSecond));
    });
  }
  if (to == Type::kSecond) {
    return ConvertTimes<int32_t>(slice, to, budget, [&](int64_t ns) {
      return Saturate<int32_t>(FloorDivide(clock(ns), kNsPerSecond));
    });
  }
  if (to == Type::kTime) {
    return ConvertTimes<int32_t>(slice, to, budget, [&](int64_t ns) {
      return Saturate<int32_t>(FloorDivide(clock(ns), kNsPerSecond / 1000));
    });
  }
  if (!instant) return NyiError(fmt::format("`{}$ of a {}", NameOf(to), NameOf(from)));
  if (to == Type::kDate) return ConvertTimes<int32_t>(slice, to, budget, DayOf);
  if (to == Type::kMonth) return ConvertTimes<int32_t>(slice, to, budget, MonthOf);
  return ConvertTimes<double>(slice, to, budget, [](int64_t ns) {
    return static_cast<double>(ns) / static_cast<double>(kNsPerDay);
  });
}

bool IsNameType(Type type) { return type == Type::kGuid || type == Type::kSymbol; }

// What the left side of a cast asks for: a type, and whether to read it from text.
struct Wanted {
  CastTarget target;
  bool from_text = false;
  bool identity = false;  // True for "*" and 0h.
};

absl::StatusOr<Wanted> WantedByLetter(char letter) {
  if (letter == '*') return Wanted{{}, false, true};
  const bool upper = letter >= 'A' && letter <= 'Z';
  const std::optional<Type> type =
      TypeOfLetter(upper ? static_cast<char>(letter - 'A' + 'a') : letter);
  if (!type.has_value()) return TypeError("a cast to \"{}\"", letter);
  return Wanted{{*type, std::nullopt}, upper};
}

absl::StatusOr<Wanted> WantedByNumber(int16_t number) {
  if (number == 0) return Wanted{{}, false, true};
  const int code = number < 0 ? -int{number} : int{number};
  if (code > 19 || !IsVectorType(static_cast<Type>(code)))
    return TypeError("a cast to {}h", number);
  return Wanted{{static_cast<Type>(code), std::nullopt}, number < 0};
}

absl::StatusOr<Wanted> WantedBy(const Value& x) {
  if (x.type() == Type::kChar) return WantedByLetter(x.as<char>());
  if (x.type() == Type::kShort) return WantedByNumber(x.as<int16_t>());
  if (x.type() != Type::kSymbol) return TypeError("a cast by a {}", NameOf(x.type()));
  if (x.symbol().empty()) return Wanted{{Type::kSymbol, std::nullopt}, true};
  const std::optional<CastTarget> target = FindCastTarget(x.symbol());
  if (!target.has_value()) return TypeError("a cast to {}", x.symbol());
  return Wanted{*target};
}

absl::StatusOr<Value> CastTo(const Wanted& wanted, const Value& y, Budget& budget, int depth);

absl::StatusOr<Value> CastItems(const Wanted& wanted, const Value& y, Budget& budget, int depth) {
  if (y.count() == 0) return EmptyVector(wanted.target.part ? Type::kInt : wanted.target.type);
  TS_RETURN_IF_ERROR(budget.ChargeItems(y.count()));
  std::vector<Value> items;
  for (const Value& item : y.items()) {
    TS_ASSIGN_OR_RETURN(Value cast, CastTo(wanted, item, budget, depth + 1));
    items.push_back(std::move(cast));
  }
  return Collapse(std::move(items));
}

absl::StatusOr<Value> CastTo(const Wanted& wanted, const Value& y, Budget& budget, int depth) {
  if (depth > kMaxListDepth) return StackError("lists more than {} deep", kMaxListDepth);
  if (wanted.identity) return y;
  if (y.is_list()) return CastItems(wanted, y, budget, depth);
  if (y.is_dict() && !y.is_keyed_table() && !y.values().is_table()) {
    TS_ASSIGN_OR_RETURN(Value values, CastTo(wanted, y.values(), budget, depth + 1));
    return Value::Dict(y.keys(), std::move(values));
  }
  if (!y.is_atom() && !y.is_vector()) return NyiError(fmt::format("$ of a {}", NameOf(y.type())));
  const bool to_symbol = wanted.target.type == Type::kSymbol;
  if (y.type() == Type::kChar && (wanted.from_text || to_symbol)) {
    return ReadText(wanted.target.type, y.text());
  }
  if (wanted.from_text && !(to_symbol && y.type() == Type::kSymbol)) {
    return TypeError("a {} where text is expected", NameOf(y.type()));
  }
  if (!y.is_atom()) return CastColumn(Slice::Of(y), wanted.target, budget);
  TS_ASSIGN_OR_RETURN(const Value one, CastColumn(Slice::Of(Enlist(y)), wanted.target, budget));
  return ItemAt(one, 0);
}

}  // namespace

std::optional<CastTarget> FindCastTarget(std::string_view name) {
  if (const std::optional<TimePart> part = FindTimePart(name)) return CastTarget{Type::kInt, part};
  for (int code = 1; code <= 19; ++code) {
    const auto type = static_cast<Type>(code);
    if (IsVectorType(type) && NameOf(type) == name) return CastTarget{type, std::nullopt};
  }
  return std::nullopt;
}

absl::StatusOr<Value> CastColumn(const Slice& slice, CastTarget target, Budget& budget) {
  const Type from = slice.type(), to = target.type;
  if (from == Type::kList) {
    TS_ASSIGN_OR_RETURN(const Value list, Materialise(slice, budget));
    return CastTo(Wanted{target}, list, budget, 0);
  }
  if (target.part.has_value()) return PartOf(slice, *target.part, budget);
  if (from == to) return Materialise(slice, budget);
  if (IsNameType(from) || IsNameType(to)) return TypeError("{} as {}", NameOf(from), NameOf(to));
  if (IsTemporal(from) && IsTemporal(to)) return ConvertTemporal(slice, to, budget);
  return VisitElementType(to, [&]<typename To>(std::type_identity<To>) -> absl::StatusOr<Value> {
    return VisitElementType(
        from, [&]<typename From>(std::type_identity<From>) -> absl::StatusOr<Value> {
          if constexpr (std::is_same_v<To, Guid> || std::is_same_v<From, Guid>) {
            return TypeError("{} as {}", NameOf(from), NameOf(to));
          } else {
            return ConvertNumbers<To, From>(slice, to, budget);
          }
        });
  });
}

absl::StatusOr<Value> Cast(const Value& x, const Value& y, Budget& budget) {
  if (x.is_atom()) {
    TS_ASSIGN_OR_RETURN(const Wanted wanted, WantedBy(x));
    return CastTo(wanted, y, budget, 0);
  }
  if (!x.is_vector() && !x.is_list()) return TypeError("a cast by a {}", NameOf(x.type()));
  const bool pairs = y.is_vector() || y.is_list();
  if (pairs && x.count() != y.count()) {
    return LengthError("{} casts of {} items", x.count(), y.count());
  }
  TS_RETURN_IF_ERROR(budget.ChargeItems(x.count()));
  std::vector<Value> items;
  for (size_t i = 0; i < x.count(); ++i) {
    const Value one = ItemAt(x, i);
    if (!one.is_atom()) return NyiError("a list of lists of casts");
    TS_ASSIGN_OR_RETURN(const Wanted wanted, WantedBy(one));
    TS_ASSIGN_OR_RETURN(Value item, CastTo(wanted, pairs ? ItemAt(y, i) : y, budget, 0));
    items.push_back(std::move(item));
  }
  return Collapse(std::move(items));
}

absl::StatusOr<Value> Cast(const Value& x, const Slice& y, Budget& budget) {
  if (x.is_atom()) {
    TS_ASSIGN_OR_RETURN(const Wanted wanted, WantedBy(x));
    const bool text = y.type() == Type::kChar && wanted.target.type == Type::kSymbol;
    if (!wanted.from_text && !wanted.identity && !text) {
      return CastColumn(y, wanted.target, budget);
    }
  }
  TS_ASSIGN_OR_RETURN(const Value copied, Materialise(y, budget));
  return Cast(x, copied, budget);
}

}  // namespace tickstack::query
