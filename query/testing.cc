#include "query/testing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/time.h"
#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/language/function_value.h"

namespace tickstack::query {
namespace {

std::string ShowClock(int64_t seconds, int64_t fraction_ns, size_t digits) {
  std::string text =
      fmt::format("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
  if (digits > 0) text += fmt::format(".{:09}", fraction_ns).substr(0, 1 + digits);
  return text;
}

std::string ShowTimespan(int64_t ns) {
  const bool negative = ns < 0;
  if (negative) ns = -ns;
  return fmt::format("{}{}D{}", negative ? "-" : "", ns / kNsPerDay,
                     ShowClock(ns % kNsPerDay / kNsPerSecond, ns % kNsPerSecond, 9));
}

std::string ShowTemporal(Type type, int64_t value) {
  const std::string sign = value < 0 ? "-" : "";
  const int64_t magnitude = value < 0 ? -value : value;
  // The calendar ends before 32 bits of days do.
  const bool calendar = type == Type::kDate || type == Type::kMonth;
  if (calendar && magnitude > 1'000'000) return fmt::format("{}{}", value, LetterOf(type));
  if (type == Type::kTimestamp) return FormatTimestamp(value);
  if (type == Type::kMonth) {
    return FormatDate(DaysFromCivil(static_cast<int>(2000 + (value - (value < 0 ? 11 : 0)) / 12),
                                    static_cast<int>((value % 12 + 12) % 12 + 1), 1))
               .substr(0, 7) +
           "m";
  }
  if (type == Type::kDate) return FormatDate(static_cast<int32_t>(value));
  if (type == Type::kTimespan) return ShowTimespan(value);
  if (type == Type::kMinute) {
    const std::string text = ShowClock(magnitude * 60, 0, 0);
    return sign + text.substr(0, text.size() - 3);
  }
  if (type == Type::kSecond) return sign + ShowClock(magnitude, 0, 0);
  return sign + ShowClock(magnitude / 1000, magnitude % 1000 * 1'000'000, 3);
}

std::string_view SuffixOf(Type type) {
  if (type == Type::kShort) return "h";
  if (type == Type::kInt) return "i";
  if (type == Type::kReal) return "e";
  return "";
}

// Appends one element without its type's suffix.
template <typename T>
std::string ShowElement(Type type, T element) {
  if constexpr (std::is_same_v<T, Guid>) {
    std::string text;
    for (std::byte byte : element) text += fmt::format("{:02x}", static_cast<int>(byte));
    return text;
  } else if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(element))
      return type == Type::kFloat ? "0n" : fmt::format("0N{}", LetterOf(type));
    if (std::isinf(element)) return element < 0 ? "-0w" : "0w";
    if (type == Type::kDatetime && std::abs(element) < 100'000) {  // The range of FormatTimestamp.
      return FormatTimestamp(static_cast<int64_t>(std::llround(element * 86'400'000.0)) * 1'000'000)
          .replace(10, 1, "T")
          .substr(0, 23);
    }
    return fmt::format("{:.10g}", element);
  } else {
    const bool plain = type == Type::kLong || type == Type::kInt || type == Type::kShort;
    const std::string letter = type == Type::kLong || plain ? "" : std::string(1, LetterOf(type));
    if (IsNullElement(type, element)) return "0N" + letter;
    if (element == std::numeric_limits<T>::max()) return "0W" + letter;
    if (element == -std::numeric_limits<T>::max()) return "-0W" + letter;
    return plain ? fmt::format("{}", element) : ShowTemporal(type, int64_t{element});
  }
}

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n')
      quoted += "\\n";
    else
      quoted += c;
  }
  return quoted + "\"";
}

std::string ShowFixedWidth(const Value& value) {
  const Type type = value.type();
  if (type == Type::kBoolean) {
    std::string text;
    for (uint8_t flag : value.span<uint8_t>()) text += flag != 0 ? '1' : '0';
    return text + "b";
  }
  if (type == Type::kByte) {
    std::string text = "0x";
    for (uint8_t byte : value.span<uint8_t>()) text += fmt::format("{:02x}", byte);
    return text;
  }
  if (type == Type::kChar) return Quoted(value.text());
  return VisitElementType(type, [&]<typename T>(std::type_identity<T>) {
    std::string text;
    for (const T& element : value.span<T>()) {
      if (!text.empty()) text += ' ';
      text += ShowElement(type, element);
    }
    text += SuffixOf(type);
    // Adds an `f` to floats that look like longs.
    const bool integral = text.find_first_of(".enw") == std::string::npos;
    return type == Type::kFloat && integral ? text + "f" : text;
  });
}

std::string ShowVector(const Value& value) {
  if (value.count() == 0 && value.type() != Type::kChar)
    return fmt::format("`{}$()", NameOf(value.type()));
  const std::string mark = value.count() == 1 ? "," : "";
  if (!value.is(Type::kSymbol)) return mark + ShowFixedWidth(value);
  std::string text = mark;
  for (size_t i = 0; i < value.count(); ++i) text += fmt::format("`{}", value.symbols()[i]);
  return text;
}

std::string ShowColumns(const Value& table) {
  std::string text;
  for (size_t i = 0; i < table.columns().size(); ++i) {
    if (i > 0) text += ';';
    text += fmt::format("{}:{}", table.column_names()[i], Show(table.columns()[i]));
  }
  return text;
}

std::string ShowList(const Value& list) {
  if (list.count() == 1) return "," + Show(list.items()[0]);
  std::string text;
  for (const Value& item : list.items()) {
    if (!text.empty()) text += ';';
    text += Show(item);
  }
  return "(" + text + ")";
}

// Returns the column's bytes as they come off the wire.
std::string EncodeColumn(const Value& column) {
  if (column.is(Type::kSymbol)) return std::string(column.symbols().text());
  if (!column.is_list()) return std::string(AsText(column.elements()));
  std::string bytes;
  for (const Value& item : column.items()) {
    TS_CHECK(item.is_string());
    bytes.append("\x0a\x00", 2);
    const auto count = static_cast<int32_t>(item.count());
    bytes.append(reinterpret_cast<const char*>(&count), sizeof(count));
    bytes.append(item.text());
  }
  return bytes;
}

}  // namespace

std::string Show(const Value& value) {
  if (value.is_keyed_table()) {
    return fmt::format("([{}]{})", ShowColumns(value.keys()), ShowColumns(value.values()));
  }
  if (value.is_table()) return fmt::format("([]{})", ShowColumns(value));
  if (value.is_dict()) return Show(value.keys()) + "!" + Show(value.values());
  if (value.is_null()) return "::";
  if (value.is_list()) return ShowList(value);
  if (value.is_atom_of(Type::kSymbol)) return fmt::format("`{}", value.symbol());
  if (value.is_atom()) return ShowFixedWidth(value);
  if (value.is_vector()) return ShowVector(value);
  if (value.is_function()) return FunctionText(value);
  return fmt::format("<{}>", NameOf(value.type()));
}

std::shared_ptr<Table> Capture(std::string_view name, const Value& table, SymbolTable& symbols,
                               mem::Tier& tier, size_t rows_per_chunk) {
  Schema schema;
  schema.table = name;
  std::vector<const Value*> columns;
  const auto add = [&](const Value& part) {
    for (size_t i = 0; i < part.columns().size(); ++i) {
      schema.columns.push_back({std::string(part.column_names()[i]), part.columns()[i].type()});
      columns.push_back(&part.columns()[i]);
    }
  };
  if (table.is_keyed_table()) {
    add(table.keys());
    schema.key_columns = columns.size();
  }
  add(table.is_keyed_table() ? table.values() : table);
  absl::StatusOr<std::shared_ptr<Table>> captured = Table::Create(
      schema, &symbols, TablePlacement{&tier, {}, nullptr},
      {.rows_per_chunk = rows_per_chunk, .rows_per_block = std::min(rows_per_chunk, size_t{1024})});
  TS_CHECK(captured.ok());
  std::vector<std::string> bytes;
  for (const Value* column : columns) bytes.push_back(EncodeColumn(*column));
  const size_t rows = columns.front()->count();
  std::vector<ColumnView> views;
  for (size_t i = 0; i < bytes.size(); ++i) {
    views.push_back({columns[i]->type(), Attribute::kNone, rows, AsBytes(bytes[i])});
  }
  if (rows > 0) TS_CHECK((*captured)->Append({views, rows}).ok());
  return *captured;
}

void TestEnvironment::CaptureTable(std::string_view name, std::string_view expression,
                                   size_t rows_per_chunk, std::string_view schema_name) {
  const absl::StatusOr<Value> table = Evaluate(expression, *this);
  TS_CHECK(table.ok() && (table->is_table() || table->is_keyed_table()));
  tables_.insert_or_assign(std::string(name), Capture(schema_name.empty() ? name : schema_name,
                                                      *table, symbols_, *tier_, rows_per_chunk));
}

void TestEnvironment::SetValue(std::string_view name, Value value) {
  values_.insert_or_assign(std::string(name), std::move(value));
}

void TestEnvironment::JoinTables(std::string_view name, std::vector<std::string> parts) {
  joined_.insert_or_assign(std::string(name), std::move(parts));
}

void TestEnvironment::AddStored(std::string_view name, std::shared_ptr<const StoredTable> table) {
  stored_.insert_or_assign(std::string(name), std::move(table));
}

std::shared_ptr<const StoredTable> TestEnvironment::FindStored(std::string_view name) {
  const auto found = stored_.find(name);
  return found == stored_.end() ? nullptr : found->second;
}

std::optional<Snapshot> TestEnvironment::FindTable(std::string_view name) {
  if (const auto joined = joined_.find(name); joined != joined_.end()) {
    std::vector<Snapshot> parts;
    for (const std::string& part : joined->second) parts.push_back(*FindTable(part));
    return Snapshot::Join(std::move(parts));
  }
  const auto found = tables_.find(name);
  if (found == tables_.end()) return std::nullopt;
  return found->second->TakeSnapshot();
}

std::vector<std::string> TestEnvironment::TableNames() {
  std::vector<std::string> names;
  for (const auto& [name, table] : tables_) names.push_back(name);
  return names;
}

std::vector<std::string> TestEnvironment::ValueNames() {
  std::vector<std::string> names;
  for (const auto& [name, value] : values_) names.push_back(name);
  return names;
}

std::optional<Value> TestEnvironment::FindValue(std::string_view name) {
  const auto found = values_.find(name);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<absl::StatusOr<Value>> TestEnvironment::Call(std::string_view name,
                                                           std::span<const Value> args) {
  if (name == ".t.fail") return absl::UnavailableError("no such luck");
  if (name != ".t.echo") return std::nullopt;
  return Value::List(std::vector<Value>(args.begin(), args.end()));
}

std::string TestEnvironment::Ask(std::string_view expression, const Limits& limits) {
  const absl::StatusOr<Value> result = Evaluate(expression, *this, limits);
  return result.ok() ? Show(*result) : "'" + QErrorText(result.status());
}

std::string TestEnvironment::AskRequest(const Value& request, const Limits& limits) {
  const absl::StatusOr<Value> result = EvaluateRequest(request, *this, limits);
  return result.ok() ? Show(*result) : "'" + QErrorText(result.status());
}

class GatewayTo::Remote final : public RemoteTable {
 public:
  Remote(std::string_view name, const Schema& schema, TestEnvironment& process)
      : name_(name), key_columns_(schema.key_columns), process_(process) {
    for (const ColumnSpec& column : schema.columns) columns_.push_back(column.name);
  }

  const std::string& name() const override { return name_; }
  bool IsOn(Side side) const override { return side == Side::kLast; }
  std::vector<std::string> Columns(Side) const override { return columns_; }
  size_t KeyColumns() const override { return key_columns_; }
  std::span<const int32_t> Days(Side) const override { return {}; }
  size_t DaysOfOne(Side, std::span<const int32_t>) const override { return 1; }
  absl::StatusOr<Value> Ask(Side, std::span<const int32_t>, Value tree,
                            const Limits& limits) const override {
    std::vector<Value> request;
    request.push_back(Value::String("eval"));
    request.push_back(std::move(tree));
    return EvaluateRequest(Value::List(std::move(request)), process_, limits);
  }

 private:
  const std::string name_;
  const size_t key_columns_;
  std::vector<std::string> columns_;
  TestEnvironment& process_;
};

std::shared_ptr<const RemoteTable> GatewayTo::FindRemote(std::string_view name) {
  const std::optional<Snapshot> table = process_.FindTable(name);
  if (!table) return nullptr;
  return std::make_shared<const Remote>(name, table->table().schema(), process_);
}

std::string GatewayTo::Ask(std::string_view expression, const Limits& limits) {
  const absl::StatusOr<Value> result = Evaluate(expression, *this, limits);
  return result.ok() ? Show(*result) : "'" + QErrorText(result.status());
}

void AddSampleTables(TestEnvironment& environment) {
  constexpr std::string_view kTrade =
      "([]time:2013.10.07D09:30 2013.10.07D09:31 2013.10.07D09:31 2013.10.07D09:33;"
      "sym:`aig`bac`aig`bac;price:48.5 13.75 48.25 14f;size:100 200 300 400i;"
      "cond:(\"AB\";\"\";enlist \"C\";\"AB\"))";
  constexpr std::string_view kQuote =
      "([]time:2013.10.07D09:29 2013.10.07D09:30 2013.10.07D09:30 2013.10.07D09:31 "
      "2013.10.07D09:32;sym:`bac`aig`aig`bac`aig;bid:13.5 48.25 48.5 13.75 48f;"
      "ask:13.75 48.5 48.75 14 48.5;bsize:1 2 3 4 5)";
  for (const auto& [name, text] : {std::pair{"trade", kTrade}, std::pair{"quote", kQuote}}) {
    environment.CaptureTable(name, text);
    const absl::StatusOr<Value> table = Evaluate(text, environment);
    TS_CHECK(table.ok());
    environment.SetValue(std::string("v") + name, *table);
  }
}

}  // namespace tickstack::query
