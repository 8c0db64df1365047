#include "query/language/function_value.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

#include "query/columns/errors.h"
#include "query/language/ast.h"
#include "query/language/functions.h"
#include "query/language/parser.h"
#include "query/language/variables.h"
#include "table/codec.h"

namespace tickstack::query {
namespace {

constexpr auto kMissing = std::byte{0xff};

constexpr auto& kUnary = kUnaryPrimitives;
constexpr auto& kOperators = kOperatorPrimitives;
constexpr size_t kEnlistItem = 12;      // ,: is enlist too.
constexpr uint8_t kLastUnaryForm = 19;  // .: has the number of . among the operators, and so on.
// Words for operators.
constexpr std::pair<std::string_view, std::string_view> kSame[] = {{"and", "&"}, {"or", "|"}};

// Comparisons that negate a primitive.
constexpr std::pair<std::string_view, std::string_view> kNegated[] = {
    {"<>", "="}, {"<=", ">"}, {">=", "<"}};

constexpr int8_t kUnaryCode = 101, kOperatorCode = 102, kIteratorCode = 103, kProjectionCode = 104,
                 kCompositionCode = 105, kFirstDerivedCode = 106;

template <size_t n>
std::optional<uint8_t> NumberIn(const std::array<std::string_view, n>& names,
                                std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (name.empty() || found == names.end()) return std::nullopt;
  return static_cast<uint8_t>(found - names.begin());
}

Value Primitive(int8_t code, uint8_t number) {
  ByteBuffer bytes;
  bytes.AppendLittle(code);
  bytes.AppendLittle(number);
  return Value::Function(std::move(bytes));
}

// Makes a composite value and charges it like its parts, whose bytes it holds once more.
absl::StatusOr<Value> Composite(int8_t code, bool counted, std::span<const Value> parts,
                                Budget& budget) {
  ByteBuffer bytes;
  bytes.AppendLittle(code);
  if (counted) bytes.AppendLittle(static_cast<int32_t>(parts.size()));
  for (const Value& part : parts) {
    TS_ASSIGN_OR_RETURN(const size_t size, EncodedBytes(part));
    TS_RETURN_IF_ERROR(budget.Charge(size));
    Encode(part, bytes);
  }
  return Value::Function(std::move(bytes));
}

absl::StatusOr<Value> ValueOfBuiltin(const Builtin& builtin, Budget& budget) {
  std::string_view name = builtin.name;
  for (const auto& [word, primitive] : kSame) {
    if (name == word) name = primitive;
  }
  if (const std::optional<uint8_t> number = NumberIn(kOperators, name)) {
    return Primitive(kOperatorCode, *number);
  }
  if (const std::optional<uint8_t> number = NumberIn(kUnary, name)) {
    return Primitive(kUnaryCode, *number);
  }
  for (const auto& [word, primitive] : kNegated) {
    if (name != word) continue;
    const Value parts[] = {Primitive(kUnaryCode, *NumberIn(kUnary, "not")),
                           Primitive(kOperatorCode, *NumberIn(kOperators, primitive))};
    return Composite(kCompositionCode, true, parts, budget);
  }
  return Value::Lambda(name);
}

// Returns the values in a function's bytes after its head.
absl::StatusOr<std::vector<Value>> PartsOf(std::span<const std::byte> rest, size_t count,
                                           Budget& budget) {
  TS_RETURN_IF_ERROR(budget.Charge(rest.size()));
  std::vector<Value> parts;
  for (size_t i = 0; i < count; ++i) {
    size_t used = 0;
    TS_ASSIGN_OR_RETURN(Value part, DecodePrefix(rest, &used));
    parts.push_back(std::move(part));
    rest = rest.subspan(used);
  }
  return parts;
}

template <size_t n>
absl::StatusOr<Function> BuiltinAt(const std::array<std::string_view, n>& names, uint8_t number) {
  const std::string_view name = number < n ? names[number] : "";
  const Builtin* const builtin = FindBuiltin(name);
  if (builtin == nullptr) return NyiError(name.empty() ? "a primitive" : name);
  return Function(builtin);
}

absl::StatusOr<Function> ProjectionOf(std::vector<Value> parts, Budget& budget) {
  if (parts.empty() || !parts[0].is_function() || parts[0].is_null()) {
    return TypeError("a projection of no function");
  }
  TS_ASSIGN_OR_RETURN(Function function, FunctionOf(parts[0], budget));
  std::vector<std::optional<Term>> args;
  for (size_t i = 1; i < parts.size(); ++i) {
    if (IsMissingArgument(parts[i])) {
      args.emplace_back();
      continue;
    }
    TS_ASSIGN_OR_RETURN(args.emplace_back(), Shared(std::move(parts[i]), budget));
  }
  // Arguments that are missing at the end are left out.
  if (args.size() > kMaxParameters) return RankError("a projection of {} arguments", args.size());
  if (args.size() < RankOf(function)) args.resize(RankOf(function));
  return MakeProjection(std::move(function), std::move(args));
}

absl::StatusOr<Function> CompositionOf(std::vector<Value> parts, Budget& budget) {
  if (parts.size() < 2 || !parts.back().is_function() || parts.back().is_null()) {
    return TypeError("a composition of no functions");
  }
  TS_ASSIGN_OR_RETURN(Function composed, FunctionOf(parts.back(), budget));
  for (size_t i = parts.size() - 1; i > 0; --i) {
    TS_ASSIGN_OR_RETURN(Term outer, Shared(std::move(parts[i - 1]), budget));
    TS_ASSIGN_OR_RETURN(composed, MakeComposition(std::move(outer), std::move(composed)));
  }
  return composed;
}

size_t CountOf(std::span<const std::byte> bytes) {
  int32_t count = 0;
  std::memcpy(&count, bytes.data() + 1, sizeof(count));
  return static_cast<size_t>(count);  // The codec rejects counts below zero.
}

// Returns whether a text is a name such as `.u.sub`, in which form a process's function travels.
bool IsName(std::string_view text) {
  const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  const auto is_part = [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_';
  };
  return !text.empty() && (is_letter(text[0]) || text[0] == '.') && text.back() != '.' &&
         std::ranges::all_of(text, is_part);
}

}  // namespace

Value MissingArgument() { return Primitive(kUnaryCode, static_cast<uint8_t>(kMissing)); }

bool IsMissingArgument(const Value& value) {
  return value.code() == kUnaryCode && value.function_bytes()[1] == kMissing;
}

Value IteratorValue(Iterator iterator) {
  return Primitive(kIteratorCode, static_cast<uint8_t>(iterator));
}

std::optional<Iterator> IteratorOf(const Value& value) {
  if (value.code() != kIteratorCode) return std::nullopt;
  const auto number = static_cast<uint8_t>(value.function_bytes()[1]);
  if (number > static_cast<uint8_t>(Iterator::kEachLeft)) return std::nullopt;
  return static_cast<Iterator>(number);
}

std::optional<Value> UnaryFormOf(std::string_view op) {
  const std::optional<uint8_t> number = NumberIn(kOperators, op);
  if (!number.has_value() || *number == 0 || *number > kLastUnaryForm) return std::nullopt;
  return Primitive(kUnaryCode, *number);
}

const Builtin* OperatorOfUnaryForm(const Value& value) {
  if (value.code() != kUnaryCode) return nullptr;
  const auto number = static_cast<uint8_t>(value.function_bytes()[1]);
  return number == 0 || number > kLastUnaryForm ? nullptr : FindBuiltin(kOperators[number]);
}

absl::StatusOr<Value> ValueOf(const Function& function, Budget& budget) {
  if (const auto* builtin = std::get_if<const Builtin*>(&function)) {
    return ValueOfBuiltin(**builtin, budget);
  }
  if (const auto* lambda = std::get_if<std::shared_ptr<const Lambda>>(&function)) {
    TS_RETURN_IF_ERROR(budget.Charge((*lambda)->source.size()));
    const std::string& space = (*lambda)->space;
    return Value::Lambda((*lambda)->source, space == "." ? "" : space.substr(1));
  }
  if (const auto* process = std::get_if<std::shared_ptr<const ProcessFunction>>(&function)) {
    return Value::Lambda((*process)->name);
  }
  std::vector<Value> parts;
  const auto add = [&](const Term& term) -> absl::Status {
    TS_ASSIGN_OR_RETURN(parts.emplace_back(), ToValue(term, budget));
    return absl::OkStatus();
  };
  if (const auto* projection = std::get_if<std::shared_ptr<const Projection>>(&function)) {
    TS_RETURN_IF_ERROR(add((*projection)->function));
    for (const std::optional<Term>& arg : (*projection)->args) {
      if (arg.has_value()) {
        TS_RETURN_IF_ERROR(add(*arg));
      } else {
        parts.push_back(MissingArgument());
      }
    }
    return Composite(kProjectionCode, true, parts, budget);
  }
  if (const auto* derived = std::get_if<std::shared_ptr<const Derived>>(&function)) {
    TS_RETURN_IF_ERROR(add((*derived)->inner));
    const auto number = static_cast<int8_t>((*derived)->iterator);
    return Composite(static_cast<int8_t>(kFirstDerivedCode + number), false, parts, budget);
  }
  const Composition& composition = *std::get<std::shared_ptr<const Composition>>(function);
  TS_RETURN_IF_ERROR(add(composition.outer));
  TS_RETURN_IF_ERROR(add(composition.inner));
  return Composite(kCompositionCode, true, parts, budget);
}

absl::StatusOr<Function> FunctionFromSource(std::string_view source, Budget& budget,
                                            std::string_view space) {
  if (const Builtin* const builtin = FindBuiltin(source)) return Function(builtin);
  if (IsReservedWord(source)) return NyiError(source);
  if (IsName(source)) {
    return Function(std::make_shared<const ProcessFunction>(ProcessFunction{std::string(source)}));
  }
  TS_ASSIGN_OR_RETURN(const std::vector<NodePtr> parsed, ParseInside(source, budget, space));
  if (parsed.size() != 1 || parsed[0] == nullptr || parsed[0]->kind != Node::Kind::kClosure) {
    return TypeError("a function whose source is no lambda");
  }
  return parsed[0]->closure;
}

absl::StatusOr<Function> FunctionOf(const Value& value, Budget& budget) {
  const Budget::Level level(budget);
  TS_RETURN_IF_ERROR(level.Check());
  const std::span<const std::byte> bytes = value.function_bytes();
  const int8_t code = value.code();
  if (value.is(Type::kLambda)) return FunctionFromSource(SourceOf(value), budget, SpaceOf(value));
  if (code == kUnaryCode) {
    const auto number = static_cast<uint8_t>(bytes[1]);
    return number == kEnlistItem ? Function(FindBuiltin("enlist")) : BuiltinAt(kUnary, number);
  }
  if (code == kOperatorCode) return BuiltinAt(kOperators, static_cast<uint8_t>(bytes[1]));
  if (code == kProjectionCode || code == kCompositionCode) {
    constexpr size_t kHead = 5;
    for (const auto& [word, primitive] : kNegated) {  // They travel as compositions.
      const Builtin* const builtin = FindBuiltin(word);
      TS_ASSIGN_OR_RETURN(const Value same, ValueOfBuiltin(*builtin, budget));
      if (value == same) return Function(builtin);
    }
    TS_ASSIGN_OR_RETURN(std::vector<Value> parts,
                        PartsOf(bytes.subspan(kHead), CountOf(bytes), budget));
    return code == kProjectionCode ? ProjectionOf(std::move(parts), budget)
                                   : CompositionOf(std::move(parts), budget);
  }
  if (code >= kFirstDerivedCode && code <= kFirstDerivedCode + 5) {
    TS_ASSIGN_OR_RETURN(std::vector<Value> parts, PartsOf(bytes.subspan(1), 1, budget));
    TS_ASSIGN_OR_RETURN(Term inner, Shared(std::move(parts[0]), budget));
    return MakeDerived(static_cast<Iterator>(code - kFirstDerivedCode), std::move(inner));
  }
  return NyiError(fmt::format("a function of type {}", code));
}

std::string SpaceOf(const Value& lambda) { return fmt::format(".{}", SpaceNameOf(lambda)); }

}  // namespace tickstack::query
