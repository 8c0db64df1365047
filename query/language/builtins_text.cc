// Functions of text: string, upper and lower case, trimming, searching, cutting and joining.

#include <array>
#include <string_view>
#include <vector>

#include "query/kernels/digits.h"
#include "query/kernels/splits.h"
#include "query/kernels/text_patterns.h"
#include "query/kernels/texts.h"
#include "query/language/builtins.h"
#include "query/language/function_value.h"
#include "query/language/functions.h"
#include "query/language/variables.h"

namespace tickstack::query::builtins {
namespace {

absl::Status CheckIsText(std::string_view what, const Value& value) {
  if (value.type() == Type::kChar) return absl::OkStatus();
  return TypeError("{} that is a {}", what, NameOf(value.type()));
}

Result Search(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value pattern, Take(context, args[1]));
  TS_ASSIGN_OR_RETURN(const Value text, Take(context, args[0]));
  TS_RETURN_IF_ERROR(CheckIsText("a text for ss", text));
  TS_RETURN_IF_ERROR(CheckIsText("a pattern for ss", pattern));
  TS_ASSIGN_OR_RETURN(const Matches matches,
                      FindMatches(text.text(), pattern.text(), context.budget));
  TS_RETURN_IF_ERROR(context.budget.Charge(matches.begins.size(), sizeof(int64_t)));
  VectorWriter<int64_t> out(Type::kLong, matches.begins.size());
  for (size_t i = 0; i < matches.begins.size(); ++i) {
    out.data()[i] = static_cast<int64_t>(matches.begins[i]);
  }
  return std::move(out).Finish();
}

// Returns the replacement of each match: one text for all, or the result of a function of each.
absl::StatusOr<std::vector<Value>> Replacements(Context& context, std::string_view text,
                                                const Matches& matches, Term by) {
  TS_ASSIGN_OR_RETURN(const std::optional<Function> function, AsFunction(by, context.budget));
  std::vector<Value> replacements;
  if (!function.has_value()) {
    TS_ASSIGN_OR_RETURN(replacements.emplace_back(), Take(context, by));
    TS_RETURN_IF_ERROR(CheckIsText("a replacement", replacements[0]));
    return replacements;
  }
  TS_RETURN_IF_ERROR(context.budget.ChargeItems(matches.begins.size()));
  for (const size_t begin : matches.begins) {
    TS_RETURN_IF_ERROR(context.budget.CheckTime());
    Term match = Value::String(text.substr(begin, matches.length));
    TS_ASSIGN_OR_RETURN(Term made, ApplyFunction(context, *function, std::span(&match, 1)));
    TS_ASSIGN_OR_RETURN(Value replacement, Take(context, made));
    TS_RETURN_IF_ERROR(CheckIsText("a replacement", replacement));
    TS_RETURN_IF_ERROR(context.budget.Charge(ApproximateBytes(replacement)));
    replacements.push_back(std::move(replacement));
  }
  return replacements;
}

Result Replace(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value pattern, Take(context, args[1]));
  TS_ASSIGN_OR_RETURN(const Value whole, Take(context, args[0]));
  TS_RETURN_IF_ERROR(CheckIsText("a text for ssr", whole));
  TS_RETURN_IF_ERROR(CheckIsText("a pattern for ssr", pattern));
  const std::string_view text = whole.text();
  TS_ASSIGN_OR_RETURN(const Matches matches, FindMatches(text, pattern.text(), context.budget));
  TS_ASSIGN_OR_RETURN(const std::vector<Value> replacements,
                      Replacements(context, text, matches, std::move(args[2])));
  const auto replacement = [&](size_t i) {
    return replacements[replacements.size() == 1 ? 0 : i].text();
  };
  size_t bytes = text.size() - matches.begins.size() * matches.length;
  for (size_t i = 0; i < matches.begins.size(); ++i) bytes += replacement(i).size();
  TS_RETURN_IF_ERROR(context.budget.Charge(bytes));
  ByteBuffer replaced;
  replaced.reserve(bytes);
  size_t at = 0;
  for (size_t i = 0; i < matches.begins.size(); ++i) {
    replaced.Append(text.substr(at, matches.begins[i] - at));
    replaced.Append(replacement(i));
    at = matches.begins[i] + matches.length;
  }
  replaced.Append(text.substr(at));
  return Value::Vector(Type::kChar, std::move(replaced));
}

// A function as it is written, or f of anything else.
template <absl::StatusOr<Value> (*f)(const Value&, Budget&)>
Result TextOfTerm(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  if (!x.is_function() || x.is_null()) return FromValue(f(x, context.budget));
  TS_RETURN_IF_ERROR(context.budget.Charge(2 * ApproximateBytes(x)));
  return Value::String(FunctionText(x));
}

bool IsNullSymbol(const Value& value) {
  return value.is_atom_of(Type::kSymbol) && value.symbol().empty();
}

// Bytes where others stand between them, as a text by its separator.
Result SplitBytes(const Value& separator, const Value& bytes, Budget& budget) {
  TS_ASSIGN_OR_RETURN(Value parts,
                      SplitText(AsText(separator.elements()), AsText(bytes.elements()), budget));
  TS_RETURN_IF_ERROR(budget.Charge(bytes.count()));
  std::vector<Value> items;
  for (const Value& part : parts.items()) {
    items.push_back(Value::Vector(Type::kByte, ByteBuffer(part.elements())));
  }
  return Value::List(std::move(items));
}

Result JoinBytes(const Value& separator, const Value& parts, Budget& budget) {
  TS_RETURN_IF_ERROR(budget.Charge(2 * ApproximateBytes(parts)));
  std::vector<Value> texts;
  for (const Value& part : parts.items()) {
    if (!part.is(Type::kByte)) return TypeError("a {} among bytes", NameOf(part.type()));
    texts.push_back(Value::String(AsText(part.elements())));
  }
  TS_ASSIGN_OR_RETURN(const Value joined, JoinTexts(AsText(separator.elements()),
                                                    Value::List(std::move(texts)), budget));
  return Value::Vector(Type::kByte, ByteBuffer(joined.elements()));
}

// By what is on the left: a text, the null symbol, 0x0, 0b or numbers.
Result VectorFromScalar(Context& context, Args args) {
  Budget& budget = context.budget;
  TS_ASSIGN_OR_RETURN(const Value y, Take(context, args[1]));
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  if (x.type() == Type::kChar) {
    if (y.is(Type::kByte)) return FromValue(SplitText(x.text(), AsText(y.elements()), budget));
    if (y.type() != Type::kChar) return TypeError("vs of a {}", NameOf(y.type()));
    return FromValue(SplitText(x.text(), y.text(), budget));
  }
  if (IsNullSymbol(x)) {
    if (y.type() == Type::kChar) return FromValue(SplitLines(y.text(), budget));
    if (y.is_atom_of(Type::kSymbol)) return FromValue(SplitName(y.symbol(), budget));
    return TypeError("` vs a {}", NameOf(y.type()));
  }
  if (x.type() == Type::kByte && y.is(Type::kByte)) return SplitBytes(x, y, budget);
  if (x.is_atom_of(Type::kByte)) return FromValue(BytesOfAtom(y));
  if (x.is_atom_of(Type::kBoolean)) return FromValue(BitsOfAtom(y));
  return FromValue(DigitsOf(x, y, budget));
}

Result ScalarFromVector(Context& context, Args args) {
  Budget& budget = context.budget;
  TS_ASSIGN_OR_RETURN(const Value y, Take(context, args[1]));
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  if (x.type() == Type::kChar) return FromValue(JoinTexts(x.text(), y, budget));
  if (IsNullSymbol(x)) {
    return FromValue(y.is(Type::kSymbol) ? JoinNames(y, budget) : JoinLines(y, budget));
  }
  if (x.type() == Type::kByte && y.is_list()) return JoinBytes(x, y, budget);
  if (x.is_atom_of(Type::kByte)) return FromValue(AtomOfBytes(y));
  if (x.is_atom_of(Type::kBoolean)) return FromValue(AtomOfBits(y));
  return FromValue(NumberOfDigits(x, y, budget));
}

// As a console of the size that `\c` says shows it.
Result Display(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  const Frame::Console& console = context.variables.request().console();
  return FromValue(DisplayOf(x,
                             {.lines = static_cast<size_t>(console.lines),
                              .columns = static_cast<size_t>(console.columns)},
                             context.budget));
}

constexpr std::array kTextTable = {
    Builtin{"string", 1, 1, false, TextOfTerm<StringsOf>},
    Builtin{"upper", 1, 1, false, OfValue<UpperCase>},
    Builtin{"lower", 1, 1, false, OfValue<LowerCase>},
    Builtin{"trim", 1, 1, false, OfValue<Trim>},
    Builtin{"ltrim", 1, 1, false, OfValue<TrimLeft>},
    Builtin{"rtrim", 1, 1, false, OfValue<TrimRight>},
    Builtin{"ss", 2, 2, true, Search},
    Builtin{"ssr", 3, 3, false, Replace},
    Builtin{"vs", 2, 2, true, VectorFromScalar},
    Builtin{"sv", 2, 2, true, ScalarFromVector},
    Builtin{".Q.s", 1, 1, false, Display},
    Builtin{".Q.s1", 1, 1, false, TextOfTerm<LineOf>},
};

}  // namespace

std::span<const Builtin> Texts() { return kTextTable; }

}  // namespace tickstack::query::builtins
