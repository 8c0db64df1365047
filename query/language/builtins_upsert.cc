// `,` and its like: items, entries and rows that come to others.

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "query/columns/concatenate.h"
#include "query/joins/stacked_tables.h"
#include "query/joins/upsert.h"
#include "query/kernels/dictionary.h"
#include "query/language/builtins.h"
#include "query/language/item_selection.h"
#include "query/language/variables.h"

namespace tickstack::query::builtins {
namespace {

bool IsDictTerm(const Term& term) {
  const auto* value = std::get_if<Value>(&term);
  return value != nullptr && value->is_dict() && !value->is_keyed_table();
}

bool IsNothing(const Term& term) {
  if (const auto* slice = std::get_if<Slice>(&term)) {
    return slice->type() == Type::kList && slice->count() == 0;
  }
  const auto* value = std::get_if<Value>(&term);
  return value != nullptr && value->is_list() && value->count() == 0;
}

Result FromRows(absl::StatusOr<TableView> view) {
  TS_RETURN_IF_ERROR(view.status());
  return *std::move(view);
}

// A table and what is joined to it; one of both is a table.
Result JoinToTable(Context& context, Args args) {
  Budget& budget = context.budget;
  if (IsNothing(args[0])) return std::move(args[1]);
  if (IsNothing(args[1])) return std::move(args[0]);
  if (IsDictTerm(args[0])) {
    TS_ASSIGN_OR_RETURN(const TableView below, ToView(context, std::move(args[1])));
    TS_ASSIGN_OR_RETURN(const TableView row, TableOfRow(std::get<Value>(args[0])));
    if (below.key_columns > 0) return TypeError("a row and a keyed table");
    return FromRows(StackTables(row, below, OneSided::kMismatch, budget));
  }
  if (!IsTableTerm(args[0])) return NyiError("a list , a table");
  TS_ASSIGN_OR_RETURN(const TableView table, ToView(context, std::move(args[0])));
  if (IsDictTerm(args[1])) {
    return FromRows(Upsert(table, std::get<Value>(std::move(args[1])), budget));
  }
  if (!IsTableTerm(args[1])) return NyiError("a table , a list");
  TS_ASSIGN_OR_RETURN(TableView other, ToView(context, std::move(args[1])));
  if (table.key_columns == 0 && other.key_columns == 0) {
    return FromRows(StackTables(table, other, OneSided::kMismatch, budget));
  }
  if (table.key_columns == 0) return TypeError("a keyed table below one without keys");
  if (other.key_columns == 0) {
    TS_ASSIGN_OR_RETURN(Value rows, Release(std::move(other), budget));
    return FromRows(Upsert(table, std::move(rows), budget));
  }
  return FromRows(MergeTables(table, other, OneSided::kMismatch, budget));
}

Result JoinTerm(Context& context, Args args) {
  if (IsTableTerm(args[0]) || IsTableTerm(args[1])) return JoinToTable(context, args);
  if (!IsDictTerm(args[0]) && !IsDictTerm(args[1])) return OfValues<Join>(context, args);
  if (IsNothing(args[0])) return std::move(args[1]);
  if (IsNothing(args[1])) return std::move(args[0]);
  return OfValues<JoinDicts>(context, args);
}

bool IsRowsOrEntries(const Value& value) { return value.is_table() || value.is_dict(); }

// A list with tables or dictionaries in it.
Result RazeRows(Context& context, const std::vector<Value>& parts) {
  std::vector<TableView> tables;
  for (const Value& part : parts) {
    if (!part.is_table()) break;
    TS_ASSIGN_OR_RETURN(tables.emplace_back(), ViewOf(part));
  }
  if (tables.size() == parts.size()) return FromRows(StackAll(tables, context.budget));
  Term joined = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) {
    Term pair[] = {std::move(joined), parts[i]};
    TS_RETURN_IF_ERROR(context.budget.CheckTime());
    TS_ASSIGN_OR_RETURN(joined, JoinTerm(context, pair));
  }
  return joined;
}

Result RazeTerm(Context& context, Args args) {
  if (IsTableTerm(args[0])) return std::move(args[0]);  // Its rows are joined already.
  TS_ASSIGN_OR_RETURN(Value x, Take(context, args[0]));
  if (x.is_list() && std::ranges::any_of(x.items(), IsRowsOrEntries)) {
    return RazeRows(context, x.items());
  }
  if (x.is_dict() && x.values().is_list() &&
      std::ranges::any_of(x.values().items(), IsRowsOrEntries)) {
    return RazeRows(context, x.values().items());
  }
  if (x.is_atom()) return Enlist(std::move(x));
  if (x.is_function()) return Value::List({std::move(x)});
  return FromValue(Raze(std::move(x), context.budget));
}

// A dictionary of names is a row, and a list of one row a table.
Result EnlistTerm(Context& context, Args args) {
  std::vector<Value> items;
  for (Term& arg : args) {
    TS_ASSIGN_OR_RETURN(Value item, Take(context, arg));
    items.push_back(std::move(item));
  }
  const bool row = items.size() == 1 && IsPlainDict(items[0]) &&
                   items[0].keys().is(Type::kSymbol) && items[0].count() > 0;
  if (row) {
    TS_RETURN_IF_ERROR(context.budget.Charge(ApproximateBytes(items[0])));
    return FromRows(TableOfRow(items[0]));
  }
  return Collapse(std::move(items));
}

// What the argument is about: a table, or the name of a variable that has one.
struct Target {
  std::optional<std::string> variable;
  TableView table;
};

absl::StatusOr<Target> TargetOf(Context& context, Term term) {
  Target target;
  TS_ASSIGN_OR_RETURN(target.variable, VariableNamed(context, term));
  TS_ASSIGN_OR_RETURN(target.table, ToView(context, std::move(term)));
  return target;
}

Result UpsertTerm(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(Value rows, Take(context, args[1]));
  if (IsNothing(args[0])) return rows;
  if (IsDictTerm(args[0])) {
    TS_ASSIGN_OR_RETURN(const Value dict, Take(context, args[0]));
    return FromValue(JoinDicts(dict, rows, context.budget));
  }
  TS_ASSIGN_OR_RETURN(const Target target, TargetOf(context, std::move(args[0])));
  TS_ASSIGN_OR_RETURN(TableView changed, Upsert(target.table, std::move(rows), context.budget));
  if (!target.variable.has_value()) return changed;
  TS_RETURN_IF_ERROR(AssignName(context, *target.variable, std::move(changed)));
  return Value::Symbol(*target.variable);
}

// The row numbers that the new rows have.
Result InsertTerm(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(Value rows, Take(context, args[1]));
  TS_ASSIGN_OR_RETURN(const Target target, TargetOf(context, std::move(args[0])));
  if (!target.variable.has_value()) return TypeError("insert into what is no name of a table");
  TS_ASSIGN_OR_RETURN(TableView changed, InsertRows(target.table, std::move(rows), context.budget));
  const size_t before = target.table.count(), n = changed.count() - before;
  TS_RETURN_IF_ERROR(AssignName(context, *target.variable, std::move(changed)));
  TS_RETURN_IF_ERROR(context.budget.Charge(n, sizeof(int64_t)));
  VectorWriter<int64_t> numbers(Type::kLong, n);
  for (size_t i = 0; i < n; ++i) numbers.data()[i] = static_cast<int64_t>(before + i);
  return std::move(numbers).Finish();
}

constexpr std::array kUpsertTable = {
    Builtin{",", 2, 2, true, JoinTerm},
    Builtin{"raze", 1, 1, false, RazeTerm},
    Builtin{"enlist", 1, UINT16_MAX, false, EnlistTerm},
    Builtin{"upsert", 2, 2, true, UpsertTerm},
    Builtin{"insert", 2, 2, true, InsertTerm},
};

}  // namespace

std::span<const Builtin> Upserts() { return kUpsertTable; }

}  // namespace tickstack::query::builtins
