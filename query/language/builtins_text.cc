// Functions of text: conversion, upper and lower case, trimming, patterns, hashes, base 64 and
// JSON.

#include <array>
#include <boost/uuid/detail/md5.hpp>
#include <boost/uuid/detail/sha1.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/escaping.h"
#include "query/kernels/delimited_text.h"
#include "query/kernels/search.h"
#include "query/kernels/text_patterns.h"
#include "query/kernels/texts.h"
#include "query/language/builtins.h"
#include "query/language/function_value.h"
#include "query/language/functions.h"
#include "query/language/indexing.h"
#include "query/language/json_values.h"
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

// Returns the replacement of each match: one text for all, or a function's result for each.
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
  if (whole.is_atom()) return TypeError("ssr of a char");
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

// Returns a function as it is written, or f of anything else.
template <absl::StatusOr<Value> (*f)(const Value&, Budget&)>
Result TextOfTerm(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  if (!x.is_function() || x.is_null()) return FromValue(f(x, context.budget));
  TS_RETURN_IF_ERROR(context.budget.Charge(2 * ApproximateBytes(x)));
  return Value::String(FunctionText(x));
}

// Formats as a console would whose size is that of `\c`.
Result Display(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  const Frame::Console& console = context.variables.request().console();
  return FromValue(DisplayOf(x,
                             {.lines = static_cast<size_t>(console.lines),
                              .columns = static_cast<size_t>(console.columns)},
                             context.budget));
}

template <typename Digest>
Value BytesOfDigest(const Digest& words) {
  ByteBuffer bytes;
  for (const unsigned int word : words) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      bytes.AppendLittle(static_cast<uint8_t>(word >> shift));
    }
  }
  return Value::Vector(Type::kByte, std::move(bytes));
}

template <typename Hash>
Result HashOf(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value text, Take(context, args[0]));
  if (text.type() != Type::kChar) return TypeError("a hash of a {}", NameOf(text.type()));
  Hash hash;
  // Skips an empty text, whose address may be null, which the library does not accept.
  if (!text.text().empty()) hash.process_bytes(text.text().data(), text.text().size());
  typename Hash::digest_type digest;
  hash.get_digest(digest);
  return BytesOfDigest(digest);
}

Result Md5(Context& context, Args args) { return HashOf<boost::uuids::detail::md5>(context, args); }
Result Sha1(Context& context, Args args) {
  return HashOf<boost::uuids::detail::sha1>(context, args);
}

absl::StatusOr<Value> TextArgument(Context& context, std::string_view function, Term& term) {
  TS_ASSIGN_OR_RETURN(Value text, Take(context, term));
  if (text.type() != Type::kChar && text.type() != Type::kByte) {
    return TypeError("{} of a {}", function, NameOf(text.type()));
  }
  return text;
}

Result Base64Of(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value text, TextArgument(context, ".Q.btoa", args[0]));
  const std::string_view bytes = AsText(text.elements());
  TS_RETURN_IF_ERROR(context.budget.Charge(2 * bytes.size()));
  return Value::String(absl::Base64Escape(absl::string_view(bytes.data(), bytes.size())));
}

Result TextOfBase64(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value text, TextArgument(context, ".Q.atob", args[0]));
  const std::string_view bytes = AsText(text.elements());
  TS_RETURN_IF_ERROR(context.budget.Charge(bytes.size()));
  std::string plain;
  if (!absl::Base64Unescape(absl::string_view(bytes.data(), bytes.size()), &plain))
    return DomainError("no base 64");
  return Value::String(plain);
}

Result JsonText(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  return FromValue(JsonOf(x, context.budget));
}

Result JsonValue(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value text, TextArgument(context, ".j.k", args[0]));
  return FromValue(ValueOfJson(AsText(text.elements()), context.budget));
}

bool NamesFile(const Value& value) {
  return value.type() == Type::kSymbol ||
         (value.is_list() && value.count() > 0 && value.items().front().type() == Type::kSymbol &&
          value.items().front().is_atom());
}

// (types;delimiter), (types;delimiter;flag) or (types;widths) 0: text
Result ReadColumnsOfText(const Value& format, const Value& text, Budget& budget) {
  const std::vector<Value>& parts = format.items();
  if (parts.size() < 2 || parts.size() > 3) return LengthError("0: with {} items", parts.size());
  if (parts[0].type() != Type::kChar) return TypeError("0: with types that are no text");
  const std::string types(parts[0].text());
  if (parts[1].type() != Type::kChar) {
    const Value& widths = parts[1];
    if (!widths.is_vector() || parts.size() == 3) return TypeError("0: with such a delimiter");
    std::vector<int64_t> numbers;
    for (size_t i = 0; i < widths.count(); ++i) {
      const std::optional<int64_t> width = IndexOf(ItemAt(widths, i));
      if (!width.has_value()) return TypeError("0: with widths that are no numbers");
      numbers.push_back(*width);
    }
    return FromValue(ReadFixedWidths(types, numbers, text, budget));
  }
  if (parts[1].text().size() != 1) return LengthError("0: with the delimiter {}", parts[1].text());
  const std::optional<int64_t> flag = parts.size() == 3 ? IndexOf(parts[2]) : 0;
  if (!flag.has_value()) return TypeError("0: with a flag that is no number");
  return FromValue(ReadDelimited({.types = types,
                                  .delimiter = parts[1].text()[0],
                                  .header = !parts[1].is_atom(),
                                  .line_ends = *flag != 0},
                                 text, budget));
}

// `0:` of text in memory. Files are nyi.
Result TextOrColumns(Context& context, Args args) {
  Budget& budget = context.budget;
  TS_ASSIGN_OR_RETURN(const Value y, Take(context, args[1]));
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  if (NamesFile(x) || y.type() == Type::kSymbol || (!IsTableValue(y) && NamesFile(y))) {
    return NyiError("0:");
  }
  if (x.is_list()) return ReadColumnsOfText(x, y, budget);
  if (x.type() != Type::kChar) return TypeError("0: with a {}", NameOf(x.type()));
  if (x.is_atom()) return FromValue(LinesOf(x.text()[0], y, budget));
  if (y.type() != Type::kChar) return TypeError("0: of keys and values that are no text");
  return FromValue(ReadKeyValues(x.text(), y.text(), budget));
}

constexpr std::array kTextTable = {
    Builtin{"0:", 2, 2, true, TextOrColumns, true},
    With(Builtin::kPure, Builtin{"string", 1, 1, false, TextOfTerm<StringsOf>}),
    With(Builtin::kPure, Builtin{"upper", 1, 1, false, Unary<UpperCase>}),
    With(Builtin::kPure, Builtin{"lower", 1, 1, false, Unary<LowerCase>}),
    Builtin{"trim", 1, 1, false, Unary<Trim>},
    Builtin{"ltrim", 1, 1, false, Unary<TrimLeft>},
    Builtin{"rtrim", 1, 1, false, Unary<TrimRight>},
    Builtin{"ss", 2, 2, true, Search, true},
    Builtin{"ssr", 3, 3, false, Replace},
    With(Builtin::kPure, ByItemOfFirst(Builtin{"like", 2, 2, true, Binary<Like>, true})),
    Builtin{"md5", 1, 1, false, Md5},
    Builtin{".Q.sha1", 1, 1, false, Sha1},
    Builtin{".Q.btoa", 1, 1, false, Base64Of},
    Builtin{".Q.atob", 1, 1, false, TextOfBase64},
    Builtin{".j.j", 1, 1, false, JsonText},
    Builtin{".j.k", 1, 1, false, JsonValue},
    Builtin{".Q.s", 1, 1, false, Display},
    Builtin{".Q.s1", 1, 1, false, TextOfTerm<LineOf>},
};

}  // namespace

std::span<const Builtin> TextFunctions() { return kTextTable; }

}  // namespace tickstack::query::builtins
