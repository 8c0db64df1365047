#include "query/language/append.h"

#include <optional>
#include <string>
#include <utility>

#include "query/columns/concatenate.h"
#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/columns/gather.h"
#include "query/joins/stacked_tables.h"
#include "query/joins/upsert.h"
#include "query/kernels/dictionary.h"
#include "query/language/item_selection.h"

namespace tickstack::query {
namespace {

absl::Status CannotAppend(const Value& y, const Value& x) {
  return TypeError("a {} appended to {}s", NameOf(y.type()), NameOf(x.type()));
}

// Returns how many levels of lists there are down to the first item that is not a list.
int LevelsOf(const Value& value) {
  if (!IsSequence(value)) return 0;
  return 1 + (value.is_list() && value.count() > 0 ? LevelsOf(value.items().front()) : 0);
}

absl::StatusOr<Value> AppendToSequence(const Value& x, Value y, Budget& budget) {
  const bool nothing = y.is_list() && y.count() == 0;
  if (x.is_vector()) {
    if (nothing) return x;
    if (!IsAtomOrVector(y) || y.type() != x.type()) return CannotAppend(y, x);
    return Join(x, y, budget);
  }
  if (LevelsOf(y) + 1 == LevelsOf(x)) {
    std::vector<Value> one;
    one.push_back(std::move(y));
    y = Value::List(std::move(one));
  }
  return Join(x, y, budget);
}

absl::StatusOr<Value> AppendToDict(const Value& x, const Value& y, Budget& budget) {
  if (!IsPlainDict(x) || !IsPlainDict(y)) return CannotAppend(y, x);
  const auto fits = [](const Value& all, const Value& more) {
    return !all.is_vector() || more.count() == 0 || more.type() == all.type();
  };
  if (!fits(x.keys(), y.keys())) return CannotAppend(y.keys(), x.keys());
  if (!fits(x.values(), y.values())) return CannotAppend(y.values(), x.values());
  return JoinDicts(x, y, budget);
}

// Returns the columns of `given` in the order of the table's, without those that are missing in it.
absl::StatusOr<TableView> InOrderOf(const TableView& table, const TableView& given) {
  for (const std::string& name : given.names) {
    if (table.Find(name) < 0) return MismatchError(name);
  }
  TableView result;
  result.rows = given.rows;
  result.key_columns = table.key_columns;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const int at = given.Find(table.names[i]);
    if (at < 0 && i < table.key_columns) return MismatchError(table.names[i]);
    if (at < 0) continue;
    const ViewColumn& column = given.columns[static_cast<size_t>(at)];
    const Type own = table.columns[i].type();
    if (own != Type::kList && own != column.type()) {
      return TypeError("{}s in column {} of {}s", NameOf(column.type()), table.names[i],
                       NameOf(own));
    }
    result.names.push_back(table.names[i]);
    result.columns.push_back(column);
  }
  return result;
}

absl::StatusOr<TableView> AppendToTable(Context& context, const TableView& table, Term y) {
  Budget& budget = context.budget;
  TableView given;
  if (IsTableTerm(y)) {
    TS_ASSIGN_OR_RETURN(given, ToView(context, std::move(y)));
  } else {
    TS_ASSIGN_OR_RETURN(Value rows, ToValue(std::move(y), budget));
    if (!rows.is_dict()) return Upsert(table, std::move(rows), budget);
    TS_ASSIGN_OR_RETURN(given, TableOfRow(rows));
  }
  TS_ASSIGN_OR_RETURN(const TableView more, InOrderOf(table, given));
  return table.key_columns > 0 ? MergeTables(table, more, OneSided::kNull, budget)
                               : StackTables(table, more, OneSided::kNull, budget);
}

}  // namespace

absl::StatusOr<Term> Append(Context& context, Term x, Term y) {
  Budget& budget = context.budget;
  const auto* const given = std::get_if<Value>(&y);
  const bool nothing = given != nullptr && given->is_list() && given->count() == 0;
  if (IsTableTerm(x)) {
    if (nothing) return x;
    TS_ASSIGN_OR_RETURN(const TableView table, ToView(context, std::move(x)));
    TS_ASSIGN_OR_RETURN(TableView longer, AppendToTable(context, table, std::move(y)));
    return Term(std::move(longer));
  }
  TS_ASSIGN_OR_RETURN(const Value value, ToValue(std::move(x), budget));
  if (nothing && value.is_dict()) return Term(value);
  const bool rows = IsTableTerm(y);
  const bool undecided = !IsSequence(value) || (value.is_list() && value.count() == 0);
  if (undecided && !value.is_dict()) {
    Term args[] = {value, std::move(y)};
    return Apply(context, *FindBuiltin(","), args);
  }
  TS_ASSIGN_OR_RETURN(Value more, ToValue(std::move(y), budget));
  if (rows && value.is_vector()) return CannotAppend(more, value);
  absl::StatusOr<Value> longer = value.is_dict() ? AppendToDict(value, more, budget)
                                                 : AppendToSequence(value, std::move(more), budget);
  TS_RETURN_IF_ERROR(longer.status());
  return *std::move(longer);
}

}  // namespace tickstack::query
