// Joins of tables.

#include <array>
#include <optional>
#include <vector>

#include "query/joins/asof_join.h"
#include "query/joins/hash_join.h"
#include "query/joins/stacked_tables.h"
#include "query/joins/upsert.h"
#include "query/language/builtins.h"
#include "query/language/item_selection.h"
#include "query/language/window_join.h"

namespace tickstack::query::builtins {
namespace {

// Joins by time. The fourth argument, a maximum age, is an extension of q.
template <AsofTime time, RightNull right_null>
Result Aj(Context& context, Args args) {
  std::optional<Value> max_age;
  if (args.size() == 4) {
    TS_ASSIGN_OR_RETURN(max_age, Take(context, args[3]));
  }
  TS_ASSIGN_OR_RETURN(const TableView right, ToView(context, std::move(args[2])));
  TS_ASSIGN_OR_RETURN(const TableView left, ToView(context, std::move(args[1])));
  TS_ASSIGN_OR_RETURN(const Value columns, Take(context, args[0]));
  return FromView(AsofJoin(columns, left, right, time, right_null, max_age ? &*max_age : nullptr,
                           context.budget));
}

// t asof y: the rows that prevail for those of a table, or the row for a dictionary.
Result Asof(Context& context, Args args) {
  const auto* const dict = std::get_if<Value>(&args[1]);
  if (dict == nullptr || !dict->is_dict() || dict->is_keyed_table()) {
    TS_ASSIGN_OR_RETURN(const TableView wanted, ToView(context, std::move(args[1])));
    TS_ASSIGN_OR_RETURN(const TableView table, ToView(context, std::move(args[0])));
    return FromView(AsofRows(table, wanted, context.budget));
  }
  TS_ASSIGN_OR_RETURN(const TableView wanted, TableOfRow(*dict));
  TS_ASSIGN_OR_RETURN(const TableView table, ToView(context, std::move(args[0])));
  TS_ASSIGN_OR_RETURN(const TableView found, AsofRows(table, wanted, context.budget));
  return FromValue(RowAt(found, 0));
}

bool IsEmptyListTerm(const Term& term) {
  const auto* value = std::get_if<Value>(&term);
  return value != nullptr && value->is_list() && value->count() == 0;
}

using KeyedJoin = absl::StatusOr<TableView> (*)(const TableView& left, const TableView& right,
                                                RightNull right_null, Budget& budget);
template <KeyedJoin join, RightNull right_null>
Result ByKeys(Context& context, Args args) {
  if (join == LeftJoin && IsEmptyListTerm(args[1])) return std::move(args[0]);
  TS_ASSIGN_OR_RETURN(const TableView right, ToView(context, std::move(args[1])));
  TS_ASSIGN_OR_RETURN(const TableView left, ToView(context, std::move(args[0])));
  return FromView(join(left, right, right_null, context.budget));
}

Result Ej(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const TableView right, ToView(context, std::move(args[2])));
  TS_ASSIGN_OR_RETURN(const TableView left, ToView(context, std::move(args[1])));
  TS_ASSIGN_OR_RETURN(const Value columns, Take(context, args[0]));
  return FromView(EquiJoin(columns, left, right, context.budget));
}

Result Pj(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const TableView right, ToView(context, std::move(args[1])));
  TS_ASSIGN_OR_RETURN(const TableView left, ToView(context, std::move(args[0])));
  return FromView(PlusJoin(left, right, context.budget));
}

Result Uj(Context& context, Args args) {
  if (IsEmptyListTerm(args[0])) return std::move(args[1]);
  if (IsEmptyListTerm(args[1])) return std::move(args[0]);
  TS_ASSIGN_OR_RETURN(const TableView right, ToView(context, std::move(args[1])));
  TS_ASSIGN_OR_RETURN(const TableView left, ToView(context, std::move(args[0])));
  if (left.key_columns == 0 && right.key_columns == 0) {
    return FromView(StackTables(left, right, OneSided::kNull, context.budget));
  }
  if (left.key_columns == 0 || right.key_columns == 0) {
    return TypeError("uj of a keyed table and one without keys");
  }
  return FromView(MergeTables(left, right, OneSided::kNull, context.budget));
}

// uj, except that a null of the right table keeps the left item of a row that both have: in the
// union, the rows of the left table are replaced by those of ljf.
Result Ujf(Context& context, Args args) {
  Term both[] = {args[0], args[1]};
  TS_ASSIGN_OR_RETURN(Term merged, Uj(context, both));
  if (!IsTableTerm(args[0]) || !IsTableTerm(args[1])) return merged;
  TS_ASSIGN_OR_RETURN(const TableView right, ToView(context, std::move(args[1])));
  TS_ASSIGN_OR_RETURN(const TableView left, ToView(context, std::move(args[0])));
  if (left.key_columns == 0) return merged;
  TS_ASSIGN_OR_RETURN(const TableView joined,
                      LeftJoin(left, right, RightNull::kKeepsLeft, context.budget));
  TS_ASSIGN_OR_RETURN(const TableView all, ToView(context, std::move(merged)));
  return FromView(MergeTables(all, joined, OneSided::kNull, context.budget));
}

// wj[windows;columns;left;(right;(f;`x);...)], with the list's items as arguments.
template <WindowStart start>
Result WindowsOfItems(Context& context, Args args) {
  if (args.size() < 4) return LengthError("a window join without a right table");
  std::vector<Value> aggregates;
  for (Term& arg : args.subspan(4)) {
    TS_ASSIGN_OR_RETURN(aggregates.emplace_back(), Take(context, arg));
  }
  TS_ASSIGN_OR_RETURN(const TableView right, ToView(context, std::move(args[3])));
  TS_ASSIGN_OR_RETURN(const TableView left, ToView(context, std::move(args[2])));
  TS_ASSIGN_OR_RETURN(const Value columns, Take(context, args[1]));
  TS_ASSIGN_OR_RETURN(const Value windows, Take(context, args[0]));
  return FromView(WindowJoin(context, start, windows, columns, left, right, aggregates));
}

template <WindowStart start>
Result WindowsOfList(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value list, Take(context, args[3]));
  if (!list.is_list()) return TypeError("a window join with what is no list");
  std::vector<Term> items(std::make_move_iterator(args.begin()),
                          std::make_move_iterator(args.begin() + 3));
  for (const Value& item : list.items()) items.emplace_back(item);
  return WindowsOfItems<start>(context, items);
}

constexpr RightNull kWhole = RightNull::kReplaces, kFill = RightNull::kKeepsLeft;
constexpr std::array kJoinTable = {
    With(Builtin::kKeepsRows, Builtin{"aj", 3, 4, false, Aj<AsofTime::kLeft, kWhole>}),
    With(Builtin::kKeepsRows, Builtin{"aj0", 3, 4, false, Aj<AsofTime::kRight, kWhole>}),
    Builtin{"ajf", 3, 4, false, Aj<AsofTime::kLeft, kFill>},
    Builtin{"ajf0", 3, 4, false, Aj<AsofTime::kRight, kFill>},
    Builtin{"asof", 2, 2, true, Asof, true},
    With(Builtin::kKeepsRows, Builtin{"lj", 2, 2, true, ByKeys<LeftJoin, kWhole>, true}),
    Builtin{"ljf", 2, 2, true, ByKeys<LeftJoin, kFill>, true},
    With(Builtin::kKeepsRows, Builtin{"ij", 2, 2, true, ByKeys<InnerJoin, kWhole>, true}),
    Builtin{"ijf", 2, 2, true, ByKeys<InnerJoin, kFill>, true},
    Builtin{"ej", 3, 3, false, Ej},
    Builtin{"pj", 2, 2, true, Pj, true},
    Builtin{"uj", 2, 2, true, Uj, true},
    Builtin{"ujf", 2, 2, true, Ujf, true},
    Builtin{"wj", 4, 4, false, WindowsOfList<WindowStart::kPrevailing>, false,
            WindowsOfItems<WindowStart::kPrevailing>},
    Builtin{"wj1", 4, 4, false, WindowsOfList<WindowStart::kInside>, false,
            WindowsOfItems<WindowStart::kInside>},
};

}  // namespace

std::span<const Builtin> JoinFunctions() { return kJoinTable; }

}  // namespace tickstack::query::builtins
