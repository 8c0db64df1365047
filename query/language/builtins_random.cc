// Random numbers and items (code.kx.com/q/ref/deal): n?x, -n?x, 0N?x, rand.
//
//   n?x    of a list or table n items or rows; of an atom n items of its type: numbers and times
//          below it; of the zero or null of a type any number, char, byte, flag or guid, any time
//          of a day, or any time of the four years from 2000 on
//   -n?x   n different ones, whole numbers, guids, names or items of a list
//   0N?x   all items of a list or til x, in random order

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <numeric>

#include "base/status.h"
#include "base/time.h"
#include "query/columns/elements.h"
#include "query/kernels/casts.h"
#include "query/kernels/key_table.h"
#include "query/kernels/type_rules.h"
#include "query/language/builtins.h"
#include "query/language/indexing.h"
#include "query/language/item_selection.h"
#include "query/language/random.h"

namespace tickstack::query::builtins {
namespace {

Random& RandomOf(Context& context) { return context.variables.request().random(); }

// `count` different numbers below `bound`, in random order.
absl::StatusOr<ScratchVector<uint64_t>> Different(Context& context, uint64_t count,
                                                  uint64_t bound) {
  Budget& budget = context.budget;
  if (count > bound) return LengthError("{} different ones of {}", count, bound);
  Random& random = RandomOf(context);
  ScratchVector<uint64_t> numbers;
  if (bound / 4 <= count) {  // The beginning of a shuffle.
    TS_RETURN_IF_ERROR(budget.Charge(bound, sizeof(uint64_t)));
    numbers.resize(bound);
    std::iota(numbers.begin(), numbers.end(), uint64_t{0});
    for (uint64_t i = 0; i < count; ++i) {
      if (i % 65'536 == 0) TS_RETURN_IF_ERROR(budget.CheckTime());
      std::swap(numbers[i], numbers[i + random.Below(bound - i)]);
    }
    numbers.resize(count);
    return numbers;
  }
  TS_RETURN_IF_ERROR(budget.Charge(count, 5 * sizeof(uint64_t)));
  numbers.reserve(count);
  KeyTable<uint64_t> known;
  while (numbers.size() < count) {
    if (numbers.size() % 65'536 == 0) TS_RETURN_IF_ERROR(budget.CheckTime());
    const uint64_t number = random.Below(bound);
    if (known.NumberOf(number) == numbers.size()) numbers.push_back(number);
  }
  return numbers;
}

absl::StatusOr<Value> Longs(std::span<const uint64_t> numbers, Budget& budget) {
  TS_RETURN_IF_ERROR(budget.Charge(numbers.size(), sizeof(int64_t)));
  VectorWriter<int64_t> out(Type::kLong, numbers.size());
  std::ranges::copy(numbers, out.data());
  return std::move(out).Finish();
}

// A vector of `count` items, each what next() returns.
template <typename T, typename Next>
absl::StatusOr<Value> Generate(Type type, uint64_t count, Budget& budget, Next next) {
  TS_RETURN_IF_ERROR(budget.Charge(count, sizeof(T)));
  VectorWriter<T> out(type, count);
  for (uint64_t i = 0; i < count; ++i) {
    if (i % 65'536 == 0) TS_RETURN_IF_ERROR(budget.CheckTime());
    out.data()[i] = next();
  }
  return std::move(out).Finish();
}

// Guids out of the kernel's random bytes, whatever the seed: no two are ever equal.
absl::StatusOr<Value> Guids(uint64_t count, Budget& budget) {
  TS_RETURN_IF_ERROR(budget.Charge(count, sizeof(Guid)));
  VectorWriter<Guid> out(Type::kGuid, count);
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(out.data(), count));
  for (size_t filled = 0; filled < bytes.size();) {
    TS_RETURN_IF_ERROR(budget.CheckTime());
    const size_t wanted = std::min(bytes.size() - filled, size_t{1} << 20);
    const ssize_t taken = ::getrandom(bytes.data() + filled, wanted, 0);
    if (taken < 0 && errno != EINTR) return ErrnoStatus(errno, "getrandom");
    filled += taken < 0 ? 0 : static_cast<size_t>(taken);
  }
  return std::move(out).Finish();
}

// n?`3: names of three letters out of the alphabet's first 16.
absl::StatusOr<Value> Names(Context& context, uint64_t count, std::string_view length,
                            bool different) {
  constexpr unsigned kLengthMax = 8, kBitsPerLetter = 4;
  const bool digit = length.size() == 1 && length[0] >= '1' && length[0] <= '8';
  if (!digit) return DomainError("names of the length {}, which is 1 to {}", length, kLengthMax);
  const auto letters = static_cast<unsigned>(length[0] - '0');
  TS_RETURN_IF_ERROR(context.budget.Charge(count, 16 + kLengthMax));
  const uint64_t bound = uint64_t{1} << (kBitsPerLetter * letters);
  ScratchVector<uint64_t> numbers;
  if (different) {
    TS_ASSIGN_OR_RETURN(numbers, Different(context, count, bound));
  }
  SymbolVector names;
  for (uint64_t i = 0; i < count; ++i) {
    if (i % 65'536 == 0) TS_RETURN_IF_ERROR(context.budget.CheckTime());
    uint64_t bits = different ? numbers[i] : RandomOf(context).Below(bound);
    std::array<char, kLengthMax> name{};
    for (unsigned j = 0; j < letters; ++j, bits >>= kBitsPerLetter) {
      name[j] = static_cast<char>('a' + (bits & 15));
    }
    names.push_back(std::string_view(name.data(), letters));
  }
  return Value::Symbols(std::move(names));
}

// Returns what the random items of a zero are below; 0 for any item of the type.
uint64_t BoundOfZero(Type type) {
  constexpr uint64_t kDays = 4 * 365 + 1;  // 2000 to 2003, as in q.
  switch (type) {
    case Type::kTimestamp:
      return kDays * static_cast<uint64_t>(kNsPerDay);
    case Type::kMonth:
      return 48;
    case Type::kDate:
    case Type::kDatetime:
      return kDays;
    default:
      break;
  }
  if (!IsTimeOfDay(type)) return 0;
  return static_cast<uint64_t>(kNsPerDay / UnitNs(type));
}

// Items of the type of an atom, below it.
absl::StatusOr<Value> Roll(Context& context, uint64_t count, const Value& atom) {
  Random& random = RandomOf(context);
  const Type type = atom.type();
  Budget& budget = context.budget;
  if (type == Type::kSymbol) return Names(context, count, atom.symbol(), false);
  if (type == Type::kGuid) return Guids(count, budget);
  if (type == Type::kChar) {
    if (atom.text() != " ") return DomainError("random chars below \"{}\"", atom.text());
    return Generate<char>(type, count, budget,
                          [&] { return static_cast<char>('a' + random.Below(26)); });
  }
  if (type == Type::kBoolean) {
    return Generate<uint8_t>(type, count, budget,
                             [&] { return static_cast<uint8_t>(random.Below(2)); });
  }
  return VisitElementType(type, [&]<typename T>(std::type_identity<T>) -> absl::StatusOr<Value> {
    if constexpr (std::is_same_v<T, Guid>) {
      return TypeError("random guids");  // Above.
    } else {
      const T bound = atom.as<T>();
      if (!(bound >= T{0})) return DomainError("random items below what is below zero");
      if constexpr (std::is_floating_point_v<T>) {
        const double below = bound == 0 ? static_cast<double>(BoundOfZero(type)) : double{bound};
        return Generate<T>(type, count, budget, [&] {
          return IsTemporal(type) || bound != 0 ? static_cast<T>(random.Fraction() * below) : bound;
        });
      } else {
        const uint64_t below = bound == 0 ? BoundOfZero(type) : static_cast<uint64_t>(bound);
        return Generate<T>(type, count, budget, [&] {
          return static_cast<T>(below == 0 ? random.Next() : random.Below(below));
        });
      }
    }
  });
}

// Different items of the type of an atom.
absl::StatusOr<Value> Deal(Context& context, uint64_t count, const Value& atom) {
  if (atom.type() == Type::kGuid) return Roll(context, count, atom);
  if (atom.type() == Type::kSymbol) return Names(context, count, atom.symbol(), true);
  if (atom.type() != Type::kLong && atom.type() != Type::kInt && atom.type() != Type::kShort) {
    return TypeError("different ones of a {}", NameOf(atom.type()));
  }
  const int64_t bound = *IndexOf(atom);
  if (bound < 0) return DomainError("different ones below {}", bound);
  const uint64_t all = bound > 0 ? static_cast<uint64_t>(bound) : uint64_t{1} << 63;
  TS_ASSIGN_OR_RETURN(const ScratchVector<uint64_t> numbers, Different(context, count, all));
  TS_ASSIGN_OR_RETURN(const Value longs, Longs(numbers, context.budget));
  return atom.type() == Type::kLong
             ? absl::StatusOr<Value>(longs)
             : CastColumn(Slice::Of(longs), CastTarget{atom.type(), std::nullopt}, context.budget);
}

size_t CountOf(const Term& term) {
  if (const auto* slice = std::get_if<Slice>(&term)) return slice->count();
  if (const auto* view = std::get_if<TableView>(&term)) return view->count();
  return std::get<Value>(term).count();
}

// Items of a list or rows of a table.
Result DrawItems(Context& context, uint64_t count, bool different, Term list) {
  const size_t of = CountOf(list);
  if (of == 0 && count > 0 && !different) return LengthError("random items of an empty list");
  ScratchVector<uint64_t> numbers;
  if (different) {
    TS_ASSIGN_OR_RETURN(numbers, Different(context, count, of));
  } else {
    TS_RETURN_IF_ERROR(context.budget.Charge(count, sizeof(uint64_t)));
    numbers.resize(count);
    for (uint64_t i = 0; i < count; ++i) {
      if (i % 65'536 == 0) TS_RETURN_IF_ERROR(context.budget.CheckTime());
      numbers[i] = RandomOf(context).Below(of);
    }
  }
  TS_ASSIGN_OR_RETURN(const Value places, Longs(numbers, context.budget));
  return IndexTerm(context, list, places);
}

Result Rand(Context& context, Args args) {
  Term one[] = {Value::Long(1), std::move(args[0])};
  TS_ASSIGN_OR_RETURN(Term drawn, Draw(context, one));
  return Apply(context, *FindBuiltin("first"), std::span(&drawn, 1));
}

constexpr std::array kRandomTable = {With(Builtin::kDraws, Builtin{"rand", 1, 1, false, Rand})};

}  // namespace

Result Draw(Context& context, Args args) {
  const std::optional<int64_t> n = IndexOf(std::get<Value>(args[0]));
  const auto* const value = std::get_if<Value>(&args[1]);
  const bool atom = value != nullptr && value->is_atom();
  const bool keyed =
      IsTableTerm(args[1]) &&
      (value != nullptr ? value->is_keyed_table() : std::get<TableView>(args[1]).key_columns > 0);
  const bool items = !keyed && (std::holds_alternative<Slice>(args[1]) || IsTableTerm(args[1]) ||
                                (value != nullptr && (value->is_vector() || value->is_list())));
  if (!n.has_value() || (!atom && !items)) return TypeError("random items of no atom or list");
  const bool permute = *n == kNullLong, different = *n < 0;
  if (items) {
    const uint64_t count = permute ? CountOf(args[1]) : static_cast<uint64_t>(different ? -*n : *n);
    return DrawItems(context, count, different, std::move(args[1]));
  }
  const Value of = *value;
  if (permute) {
    const std::optional<int64_t> count = IndexOf(of);
    if (!count.has_value() || *count < 0) return TypeError("0N? of no number or list");
    const auto all = static_cast<uint64_t>(*count);
    TS_ASSIGN_OR_RETURN(const ScratchVector<uint64_t> numbers, Different(context, all, all));
    return FromValue(Longs(numbers, context.budget));
  }
  return FromValue(different ? Deal(context, static_cast<uint64_t>(-*n), of)
                             : Roll(context, static_cast<uint64_t>(*n), of));
}

std::span<const Builtin> RandomFunctions() { return kRandomTable; }

}  // namespace tickstack::query::builtins
