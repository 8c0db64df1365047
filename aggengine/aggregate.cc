#include "aggengine/aggregate.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "aggengine/bar_functions.h"
#include "base/status.h"
#include "base/time.h"

namespace tickstack::aggengine {
namespace {

using Operands = BarFunction::Operands;

// Returns the words of the functions with such operands, with spaces between them.
std::string WordsWith(Operands operands) {
  std::string words;
  for (const BarFunction& function : BarFunctions()) {
    if (function.operands != operands) continue;
    words += fmt::format("{}{}", words.empty() ? "" : " ", function.word);
  }
  return words;
}

bool IsNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Returns the names and minus signs of a text; nullopt at any other character.
std::optional<std::vector<std::string_view>> Words(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && IsNameChar(text[end])) ++end;
    if (end > at) {
      words.push_back(text.substr(at, end - at));
      at = end;
    } else if (text[at] == '-') {
      words.push_back(text.substr(at++, 1));
    } else if (text[at] == ' ') {
      ++at;
    } else {
      return std::nullopt;
    }
  }
  return words;
}

std::optional<Operand> OperandOf(std::span<const std::string_view> words) {
  if (words.empty() || words[0] == "-") return std::nullopt;
  if (words.size() == 1) return Operand{std::string(words[0]), {}};
  if (words.size() != 3 || words[1] != "-" || words[2] == "-") return std::nullopt;
  return Operand{std::string(words[0]), std::string(words[2])};
}

// Reads `F`, `F x` or `w F x` for one function.
std::optional<Aggregate> Read(const BarFunction& function,
                              std::span<const std::string_view> words) {
  const auto found = std::find(words.begin(), words.end(), function.word);
  if (found == words.end()) return std::nullopt;
  const auto at = static_cast<size_t>(found - words.begin());
  Aggregate read{.name = {}, .function = &function, .x = {}, .weight = {}};
  if (function.operands == Operands::kNone) {
    return words.size() == 1 ? std::optional(read) : std::nullopt;
  }
  const std::optional<Operand> x = OperandOf(words.subspan(at + 1));
  if (!x) return std::nullopt;
  read.x = *x;
  if (function.operands == Operands::kOne) return at == 0 ? std::optional(read) : std::nullopt;
  const std::optional<Operand> weight = OperandOf(words.first(at));
  if (!weight) return std::nullopt;
  read.weight = *weight;
  return read;
}

std::optional<Aggregate> Read(std::span<const std::string_view> words) {
  for (const BarFunction& function : BarFunctions()) {
    if (std::optional<Aggregate> read = Read(function, words)) return read;
  }
  return std::nullopt;
}

bool IsNumber(Type type) {
  return type == Type::kShort || type == Type::kInt || type == Type::kLong || type == Type::kReal ||
         type == Type::kFloat;
}

absl::StatusOr<Type> ColumnType(const std::string& name, const Schema& source) {
  const int found = source.Find(name);
  if (found < 0) {
    return InvalidArgument("no column {}, table {} has {}", name, source.table,
                           FormatSchema(source));
  }
  return source.columns[static_cast<size_t>(found)].type;
}

absl::Status CheckIsNumber(const Operand& operand, Type type) {
  if (IsNumber(type)) return absl::OkStatus();
  return InvalidArgument("column {} is a {}, expected a number", operand.column, NameOf(type));
}

// Returns the type of an aggregate's column; kInvalidArgument if its function does not take the
// operand's type.
absl::StatusOr<Type> ResultType(const Aggregate& aggregate, const Schema& source) {
  const BarFunction& function = *aggregate.function;
  if (function.operands == Operands::kNone) return function.type(Type::kList);
  TS_ASSIGN_OR_RETURN(const Type x, TypeOf(aggregate.x, source));
  if (function.numbers_only) {
    TS_RETURN_IF_ERROR(CheckIsNumber(aggregate.x, x));
  } else if (!IsFixedWidth(x) || x == Type::kGuid) {
    return InvalidArgument(
        "column {} is a {}, expected a number, a time or another type of up to 8 bytes",
        aggregate.x.column, NameOf(x));
  }
  if (function.operands == Operands::kWeighted) {
    TS_ASSIGN_OR_RETURN(const Type weight, TypeOf(aggregate.weight, source));
    TS_RETURN_IF_ERROR(CheckIsNumber(aggregate.weight, weight));
  }
  return function.type(x);
}

// Returns the type of the source's times.
absl::StatusOr<Type> CheckSource(const BarSpec& spec, const Schema& source) {
  const auto has = [&](std::string_view name, Type type) {
    const int found = source.Find(name);
    return found >= 0 && source.columns[static_cast<size_t>(found)].type == type;
  };
  if (has("sym", Type::kSymbol) && source.key_columns == 0) {
    for (const Type type : {Type::kTimestamp, Type::kTimespan}) {
      if (has("time", type)) return type;
    }
  }
  return InvalidArgument(
      "bars {} of table {}: expected columns time p (or n) and sym s and no key, found {}",
      spec.name, source.table, FormatSchema(source));
}

std::vector<Aggregate> Read(
    std::initializer_list<std::pair<std::string_view, std::string_view>> columns) {
  std::vector<Aggregate> aggregates;
  for (const auto& [column, text] : columns) {
    aggregates.push_back(*ParseAggregate(column, text));
  }
  return aggregates;
}

}  // namespace

absl::StatusOr<Aggregate> ParseAggregate(std::string_view name, std::string_view text) {
  const std::optional<std::vector<std::string_view>> words = Words(text);
  std::optional<Aggregate> read = words ? Read(*words) : std::nullopt;
  if (!read) {
    return InvalidArgument(
        "expected `{}`, `F x` with F one of {}, or `w {} x`, where x and w are columns or a "
        "difference such as ask-bid, found \"{}\"",
        WordsWith(Operands::kNone), WordsWith(Operands::kOne), WordsWith(Operands::kWeighted),
        text);
  }
  read->name = name;
  return *std::move(read);
}

absl::StatusOr<Type> TypeOf(const Operand& operand, const Schema& source) {
  TS_ASSIGN_OR_RETURN(const Type column, ColumnType(operand.column, source));
  if (operand.minus.empty()) return column;
  TS_ASSIGN_OR_RETURN(const Type minus, ColumnType(operand.minus, source));
  if (!IsNumber(column) || !IsNumber(minus)) {
    return InvalidArgument("{}-{}: a {} and a {}, expected numbers", operand.column, operand.minus,
                           NameOf(column), NameOf(minus));
  }
  return IsFloating(column) || IsFloating(minus) ? Type::kFloat : Type::kLong;
}

absl::StatusOr<Schema> SchemaOf(const BarSpec& spec, const Schema& source) {
  TS_ASSIGN_OR_RETURN(const Type time, CheckSource(spec, source));
  Schema schema{spec.name, {{"sym", Type::kSymbol}}, 2};
  if (spec.width_ns == kNsPerDay && time == Type::kTimestamp) {
    schema.columns.push_back({"date", Type::kDate});
  } else {
    schema.columns.push_back({spec.width_ns == 60 * kNsPerSecond ? "minute" : "start", time});
  }
  schema.columns.push_back({"time", time});
  for (const Aggregate& aggregate : spec.aggregates) {
    if (schema.Find(aggregate.name) >= 0) {
      return InvalidArgument("{}: two columns of this name in {}", aggregate.name, spec.name);
    }
    absl::StatusOr<Type> type = ResultType(aggregate, source);
    if (!type.ok()) return Annotate(type.status(), aggregate.name);
    schema.columns.push_back({aggregate.name, *type});
  }
  return schema;
}

std::vector<Aggregate> DefaultAggregates(std::string_view table) {
  if (table == "trade") {
    return Read({{"open", "first price"},
                 {"high", "max price"},
                 {"low", "min price"},
                 {"close", "last price"},
                 {"volume", "sum size"},
                 {"vwap", "size wavg price"},
                 {"trades", "count"}});
  }
  if (table == "quote") {
    return Read({{"bid", "last bid"},
                 {"ask", "last ask"},
                 {"high_bid", "max bid"},
                 {"low_ask", "min ask"},
                 {"spread", "twavg ask-bid"},
                 {"quotes", "count"}});
  }
  return {};
}

std::vector<BarSpec> DefaultBars(std::span<const Schema> tables,
                                 std::vector<std::string>* left_out) {
  std::vector<BarSpec> bars;
  for (const std::string_view table : {"trade", "quote"}) {
    for (const auto& [kind, width_ns] :
         {std::pair{"minute", 60 * kNsPerSecond}, std::pair{"daily", kNsPerDay}}) {
      BarSpec spec{fmt::format("{}_{}", table, kind), std::string(table), width_ns,
                   DefaultAggregates(table)};
      const auto source = std::find_if(tables.begin(), tables.end(),
                                       [&](const Schema& each) { return each.table == table; });
      if (source == tables.end()) continue;
      const absl::Status possible = SchemaOf(spec, *source).status();
      if (!possible.ok() && left_out != nullptr) {
        left_out->push_back(fmt::format("no bars {}: {}", spec.name, Message(possible)));
      }
      if (possible.ok()) bars.push_back(std::move(spec));
    }
  }
  return bars;
}

}  // namespace tickstack::aggengine
