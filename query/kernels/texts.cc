#include "query/kernels/texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/kernels/unary.h"
#include "table/element_text.h"
#include "table/format_value.h"
#include "table/function_text.h"

namespace tickstack::query {
namespace {

// The most memory that the text of a fixed-width element takes; a guid's is the longest.
constexpr size_t kElementTextBytes = 40;

absl::StatusOr<Value> StringsOfVector(const Value& vector, Budget& budget) {
  const size_t n = vector.count();
  TS_RETURN_IF_ERROR(budget.ChargeItems(n));
  // Each string is a block of its own, which is too small to be outside of DRAM.
  TS_RETURN_IF_ERROR(budget.Charge(Budget::Amount{n * kElementTextBytes, n * kElementTextBytes}));
  std::vector<Value> strings;
  strings.reserve(n);
  if (vector.is(Type::kSymbol)) {
    TS_RETURN_IF_ERROR(budget.Charge(vector.symbols().text().size()));
    for (size_t i = 0; i < n; ++i) strings.push_back(Value::String(vector.symbols()[i]));
    return Value::List(std::move(strings));
  }
  for (size_t i = 0; i < n; ++i) {
    if (i % 4096 == 0) TS_RETURN_IF_ERROR(budget.CheckTime());
    strings.push_back(
        Value::String(TextOfElement(vector.type(), ElementAt(vector, i), TimeStyle::kQ)));
  }
  return Value::List(std::move(strings));
}

// Applies f to vectors at any depth, like MapSimple, but lists of the results for atoms do not
// collapse.
template <typename F>
absl::StatusOr<Value> MapTexts(const Value& x, Budget& budget, F f, int depth = 0) {
  if (depth > kMaxListDepth) return StackError("lists more than {} deep", kMaxListDepth);
  if (x.is_atom() || x.is_vector() || x.is_function()) return f(x);
  const auto items_of = [&](const std::vector<Value>& items) -> absl::StatusOr<std::vector<Value>> {
    TS_RETURN_IF_ERROR(budget.ChargeItems(items.size()));
    std::vector<Value> mapped;
    mapped.reserve(items.size());
    for (const Value& item : items) {
      TS_ASSIGN_OR_RETURN(mapped.emplace_back(), MapTexts(item, budget, f, depth + 1));
    }
    return mapped;
  };
  if (x.is_list()) {
    TS_ASSIGN_OR_RETURN(std::vector<Value> mapped, items_of(x.items()));
    return Value::List(std::move(mapped));
  }
  if (x.is_table()) {
    TS_ASSIGN_OR_RETURN(std::vector<Value> mapped, items_of(x.columns()));
    return Value::Pair(Type::kTable, Attribute::kNone, x.keys(), Value::List(std::move(mapped)));
  }
  if (!x.is_dict()) return TypeError("text of a {}", NameOf(x.type()));
  TS_ASSIGN_OR_RETURN(Value values, MapTexts(x.values(), budget, f, depth + 1));
  return Value::Pair(Type::kDict, Attribute::kNone, x.keys(), std::move(values));
}

template <typename F>
absl::StatusOr<Value> MapLetters(std::string_view name, const Value& x, Budget& budget, F letter) {
  return MapSimple(x, budget, [&](const Value& vector) -> absl::StatusOr<Value> {
    TS_RETURN_IF_ERROR(budget.Charge(ApproximateBytes(vector)));
    if (vector.is_string()) {
      VectorWriter<char> out(Type::kChar, vector.count());
      std::ranges::transform(vector.text(), out.data(), letter);
      return std::move(out).Finish();
    }
    if (!vector.is(Type::kSymbol)) return TypeError("{} of {}", name, NameOf(vector.type()));
    SymbolVector names;
    names.reserve(vector.count(), vector.symbols().text().size());
    std::string changed;
    for (size_t i = 0; i < vector.count(); ++i) {
      changed = vector.symbols()[i];
      std::ranges::transform(changed, changed.begin(), letter);
      names.push_back(changed);
    }
    return Value::Symbols(std::move(names));
  });
}

// Which nulls `trim` and the like remove, and their name for errors.
struct TrimmedEnds {
  std::string_view name;
  bool left, right;
};

// Removes nulls from the ends of a vector; an atom stays as it is.
absl::StatusOr<Value> TrimVector(const TrimmedEnds& ends, const Value& x, Budget& budget) {
  if (x.is_function()) return TypeError("{} of a {}", ends.name, NameOf(x.type()));
  if (x.is_atom()) return x;
  TS_RETURN_IF_ERROR(budget.Charge(ApproximateBytes(x)));
  if (x.type() == Type::kChar) {
    std::string_view text = x.text();
    if (ends.left) text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (ends.right) text = text.substr(0, text.find_last_not_of(' ') + 1);
    return Value::String(text);
  }
  TS_ASSIGN_OR_RETURN(const Value nulls, NullFlags(x, budget));
  const std::span<const uint8_t> flags = nulls.span<uint8_t>();
  size_t begin = 0, end = flags.size();
  while (ends.left && begin < end && flags[begin] != 0) ++begin;
  while (ends.right && begin < end && flags[end - 1] != 0) --end;
  TS_RETURN_IF_ERROR(budget.Charge(end - begin, sizeof(uint32_t)));
  ScratchVector<uint32_t> kept(end - begin);
  std::iota(kept.begin(), kept.end(), static_cast<uint32_t>(begin));
  return TakeItems(x, kept);
}

absl::StatusOr<Value> TrimEnds(const TrimmedEnds& ends, const Value& x, Budget& budget,
                               int depth = 0);

// Trims each item of a dictionary's values or of a column. Atoms stay as they are, so that the
// count does too.
absl::StatusOr<Value> TrimItems(const TrimmedEnds& ends, const Value& items, Budget& budget,
                                int depth) {
  if (!items.is_vector()) return TrimEnds(ends, items, budget, depth);
  TS_ASSIGN_OR_RETURN(const Value nulls, NullFlags(items, budget));
  if (std::ranges::find(nulls.span<uint8_t>(), 1) == nulls.span<uint8_t>().end()) return items;
  return TypeError("{} of a null", ends.name);
}

absl::StatusOr<Value> TrimEnds(const TrimmedEnds& ends, const Value& x, Budget& budget, int depth) {
  if (depth > kMaxListDepth) return StackError("lists more than {} deep", kMaxListDepth);
  if (x.is_list() || x.is_table()) {
    const std::vector<Value>& items = x.is_list() ? x.items() : x.columns();
    TS_RETURN_IF_ERROR(budget.ChargeItems(items.size()));
    std::vector<Value> trimmed;
    for (const Value& item : items) {
      TS_ASSIGN_OR_RETURN(trimmed.emplace_back(), x.is_list()
                                                      ? TrimEnds(ends, item, budget, depth + 1)
                                                      : TrimItems(ends, item, budget, depth + 1));
    }
    if (x.is_list()) return Value::List(std::move(trimmed));
    return Value::Pair(Type::kTable, Attribute::kNone, x.keys(), Value::List(std::move(trimmed)));
  }
  if (!x.is_dict()) return TrimVector(ends, x, budget);
  TS_ASSIGN_OR_RETURN(Value values, TrimItems(ends, x.values(), budget, depth + 1));
  return Value::Pair(Type::kDict, Attribute::kNone, x.keys(), std::move(values));
}

// Charges the most that a value's text takes: no element's text, with separators, is longer than
// four times its bytes.
absl::Status ChargeText(const Value& x, Budget& budget) {
  const size_t bytes = ApproximateBytes(x);
  // The text grows by doubling and is copied once. It stays in DRAM.
  return budget.Charge(Budget::Amount{16 * bytes, 16 * bytes});
}

}  // namespace

std::string TextOfElement(Type type, std::span<const std::byte> element, TimeStyle style) {
  switch (FiniteOf(type, element)) {
    case Finite::kFinite:
      break;
    case Finite::kNull:
      if (type != Type::kGuid) return "";
      return "00000000-0000-0000-0000-000000000000";
    case Finite::kPlus:
      return IsFloating(type) ? "0w" : "0W";
    case Finite::kMinus:
      return IsFloating(type) ? "-0w" : "-0W";
  }
  // q shows seven digits, and so does its `string`.
  if (type == Type::kFloat) return fmt::format("{:.7g}", LoadLittle<double>(element.data()));
  if (type == Type::kReal) return fmt::format("{:.7g}", LoadLittle<float>(element.data()));
  return ElementText(type, element, style);
}

absl::StatusOr<Value> StringsOf(const Value& x, Budget& budget) {
  return MapTexts(x, budget, [&](const Value& value) -> absl::StatusOr<Value> {
    TS_RETURN_IF_ERROR(budget.Charge(kElementTextBytes));
    if (value.is_vector()) return StringsOfVector(value, budget);
    if (value.is_function()) {
      TS_RETURN_IF_ERROR(budget.Charge(2 * ApproximateBytes(value)));
      return Value::String(FunctionText(value));
    }
    if (value.type() == Type::kSymbol) {
      TS_RETURN_IF_ERROR(budget.Charge(value.symbol().size()));
      return Value::String(value.symbol());
    }
    return Value::String(TextOfElement(value.type(), value.elements(), TimeStyle::kQ));
  });
}

absl::StatusOr<Value> UpperCase(const Value& x, Budget& budget) {
  return MapLetters("upper", x, budget, [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
}

absl::StatusOr<Value> LowerCase(const Value& x, Budget& budget) {
  return MapLetters("lower", x, budget, [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
}

absl::StatusOr<Value> Trim(const Value& x, Budget& budget) {
  return TrimEnds({"trim", true, true}, x, budget);
}

absl::StatusOr<Value> TrimLeft(const Value& x, Budget& budget) {
  return TrimEnds({"ltrim", true, false}, x, budget);
}

absl::StatusOr<Value> TrimRight(const Value& x, Budget& budget) {
  return TrimEnds({"rtrim", false, true}, x, budget);
}

absl::StatusOr<Value> Pad(int64_t width, const Value& x, Budget& budget) {
  if (width == kNullLong) return DomainError("a null width");
  const bool from_end = width < 0;
  const size_t wanted =
      from_end ? size_t{0} - static_cast<size_t>(width) : static_cast<size_t>(width);
  return MapTexts(x, budget, [&](const Value& value) -> absl::StatusOr<Value> {
    if (value.type() != Type::kChar) return TypeError("$ of a {}", NameOf(value.type()));
    TS_RETURN_IF_ERROR(budget.Charge(wanted));
    const std::string_view text = value.text();
    const size_t kept = std::min(wanted, text.size());
    std::string padded(wanted, ' ');
    std::memcpy(padded.data() + (from_end ? wanted - kept : 0),
                text.data() + (from_end ? text.size() - kept : 0), kept);
    return Value::String(padded);
  });
}

absl::StatusOr<Value> LineOf(const Value& x, Budget& budget) {
  TS_RETURN_IF_ERROR(ChargeText(x, budget));
  return Value::String(InlineText(x));
}

absl::StatusOr<Value> DisplayOf(const Value& x, const TextLimits& console, Budget& budget) {
  TS_RETURN_IF_ERROR(ChargeText(x, budget));
  return Value::String(FormatText(x, console));
}

}  // namespace tickstack::query
