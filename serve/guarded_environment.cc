#include "serve/guarded_environment.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/status.h"
#include "query/columns/elements.h"

namespace tickstack::serve {
namespace {

constexpr std::string_view kWithheld =
    "withheld: it may name tables that you may not know (metrics or administer shows it)";

Value WithheldIfText(const Value& value) {
  return value.type() == Type::kChar && value.count() > 0 ? Value::String(kWithheld) : value;
}

// A value that has rows of its own, such as a table in a file of an hdb's root.
bool HasRows(const Value& value) {
  return value.type() == Type::kTable || value.type() == Type::kDict || value.is_list();
}

// True for names of the process itself, such as `.u.i`, and for an hdb's partition column.
bool IsOfTheProcess(std::string_view name) {
  constexpr std::array<std::string_view, 4> kPartitionColumns = {"date", "month", "year", "int"};
  return name.starts_with('.') ||
         std::ranges::find(kPartitionColumns, name) != kPartitionColumns.end();
}

// Calls visit(name) for each symbol of an argument.
template <typename Visit>
absl::Status EachSymbol(const Value& value, Visit visit) {
  if (value.is_atom_of(Type::kSymbol)) return visit(value.symbol());
  if (!value.is(Type::kSymbol)) return absl::OkStatus();
  for (size_t i = 0; i < value.count(); ++i) TS_RETURN_IF_ERROR(visit(value.symbols()[i]));
  return absl::OkStatus();
}

}  // namespace

Value WithholdTexts(Value answer) {
  const bool is_dict = answer.is_dict() && answer.values().is_list();
  if (!is_dict && !answer.is_list()) return WithheldIfText(answer);
  std::vector<Value> items;
  for (const Value& item : is_dict ? answer.values().items() : answer.items()) {
    items.push_back(WithheldIfText(item));
  }
  return is_dict ? Value::Dict(answer.keys(), Value::List(std::move(items)))
                 : Value::List(std::move(items));
}

bool GuardedEnvironment::MayQuery(std::string_view name) const {
  const security::Grants* const grants = access_.grants();
  // The rows of one day of a table are the table's.
  return grants == nullptr || grants->query.Has(name.substr(0, name.find(query::kOfDay)));
}

bool GuardedEnvironment::HasTable(std::string_view name) {
  return process_.FindTable(name).has_value() || process_.FindStored(name) != nullptr ||
         process_.FindRemote(name) != nullptr;
}

std::optional<Snapshot> GuardedEnvironment::FindTable(std::string_view name) {
  return MayQuery(name) ? process_.FindTable(name) : std::nullopt;
}

std::shared_ptr<const query::StoredTable> GuardedEnvironment::FindStored(std::string_view name) {
  return MayQuery(name) ? process_.FindStored(name) : nullptr;
}

std::shared_ptr<const query::RemoteTable> GuardedEnvironment::FindRemote(std::string_view name) {
  return MayQuery(name) ? process_.FindRemote(name) : nullptr;
}

std::vector<std::string> GuardedEnvironment::TableNames() {
  std::vector<std::string> names = process_.TableNames();
  std::erase_if(names, [this](const std::string& name) { return !MayQuery(name); });
  return names;
}

std::optional<Value> GuardedEnvironment::FindValue(std::string_view name) {
  std::optional<Value> value = process_.FindValue(name);
  if (!value.has_value() || MayQuery(name)) return value;
  const bool is_column = !HasRows(*value) || name.starts_with('.');
  if (!IsOfTheProcess(name) || !is_column) return std::nullopt;
  return WithoutHidden(*std::move(value));
}

std::vector<std::string> GuardedEnvironment::ValueNames() {
  std::vector<std::string> names = process_.ValueNames();
  std::erase_if(
      names, [this](const std::string& name) { return !IsOfTheProcess(name) && !MayQuery(name); });
  return names;
}

// A name may be that of a table, or of one of its columns: `quote.bid`.
absl::Status GuardedEnvironment::Refusal(std::string_view name) {
  for (const std::string_view table : {name, name.substr(0, name.rfind('.'))}) {
    if (table.empty() || MayQuery(table)) continue;
    const bool hidden =
        HasTable(table) || (process_.FindValue(table).has_value() && !FindValue(table).has_value());
    if (hidden) return access_.MayQuery(table);
  }
  return process_.Refusal(name);
}

std::optional<absl::StatusOr<Value>> GuardedEnvironment::Call(std::string_view name,
                                                              std::span<const Value> args) {
  if (process_.Changes(name, args)) {
    if (absl::Status may = access_.MayAdminister(name); !may.ok()) return may;
  }
  if (absl::Status may = CheckTablesIn(args); !may.ok()) return may;
  std::optional<absl::StatusOr<Value>> answer = process_.Call(name, args);
  if (!answer.has_value() || !answer->ok()) return answer;
  return WithoutHidden(**std::move(answer));
}

// Leaves out what the client may not know, which each function tells in one of these forms.
Value GuardedEnvironment::WithoutHidden(Value value) {
  if (access_.KnowsAllTables()) return value;
  // Positions of the names that the client may know.
  const auto known = [this](const SymbolVector& names) {
    std::vector<uint32_t> positions;
    for (size_t i = 0; i < names.size(); ++i) {
      if (MayQuery(names[i]) || !HasTable(names[i])) positions.push_back(static_cast<uint32_t>(i));
    }
    return positions;
  };
  const auto are_tables = [this](const Value& names) {
    if (!names.is(Type::kSymbol) || names.count() == 0) return false;
    const SymbolVector& symbols = names.symbols();
    for (size_t i = 0; i < symbols.size(); ++i) {
      if (!HasTable(symbols[i])) return false;
    }
    return true;
  };
  if (value.is_table()) {
    const SymbolVector& names = value.column_names();
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i] != "table" || !value.columns()[i].is(Type::kSymbol)) continue;
      const std::vector<uint32_t> rows = known(value.columns()[i].symbols());
      std::vector<Value> columns;
      for (const Value& column : value.columns()) columns.push_back(query::TakeItems(column, rows));
      return Value::Table(names, std::move(columns));
    }
    return value;
  }
  if (value.is_dict() && are_tables(value.keys())) {
    const std::vector<uint32_t> entries = known(value.keys().symbols());
    return Value::Dict(query::TakeItems(value.keys(), entries),
                       query::TakeItems(value.values(), entries));
  }
  if (are_tables(value)) return query::TakeItems(value, known(value.symbols()));
  return WithholdTexts(std::move(value));
}

// A function that is told a table's name reads that table.
absl::Status GuardedEnvironment::CheckTablesIn(std::span<const Value> args) {
  for (const Value& arg : args) {
    TS_RETURN_IF_ERROR(EachSymbol(arg, [this](std::string_view name) {
      return !MayQuery(name) && HasTable(name) ? access_.MayQuery(name) : absl::OkStatus();
    }));
  }
  return absl::OkStatus();
}

}  // namespace tickstack::serve
