// Queries in functional form: `?` (find, choose, exec, select) and fby.

#include <algorithm>
#include <array>

#include "query/kernels/find_rows.h"
#include "query/kernels/search.h"
#include "query/language/builtins.h"
#include "query/language/filter_by.h"
#include "query/language/indexing.h"
#include "query/language/item_selection.h"
#include "query/language/parse_tree.h"
#include "query/language/select.h"

namespace tickstack::query::builtins {
namespace {

// ?[flags;x;y]: takes each item from x or y, of which either may be an atom.
Result Choose(Context& context, Args args) {
  Budget& budget = context.budget;
  TS_ASSIGN_OR_RETURN(const Value y, Take(context, args[2]));
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[1]));
  TS_ASSIGN_OR_RETURN(const Value flags, Take(context, args[0]));
  if (flags.type() != Type::kBoolean) return TypeError("a choice by a {}", NameOf(flags.type()));
  const size_t n = flags.count();
  for (const Value* side : {&x, &y}) {
    if (!IsSequence(*side) && !side->is_atom())
      return TypeError("a choice of a {}", NameOf(side->type()));
    if (IsSequence(*side) && (flags.is_atom() || side->count() != n)) {
      return LengthError("{} items by {} flags", side->count(), n);
    }
  }
  if (n == 0) return EmptyVector(x.type());
  TS_RETURN_IF_ERROR(budget.ChargeItems(n));
  std::vector<Value> chosen;
  for (size_t i = 0; i < n; ++i) {
    const Value& from = flags.span<uint8_t>()[i] != 0 ? x : y;
    chosen.push_back(from.is_atom() ? from : ItemAt(from, i));
  }
  if (flags.is_atom()) return std::move(chosen[0]);
  return Collapse(std::move(chosen));
}

// ?[t;i;p]: evaluates the expression p over the rows i.
Result ExecOfRows(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value tree, Take(context, args[2]));
  TS_ASSIGN_OR_RETURN(const Value rows, Take(context, args[1]));
  TS_ASSIGN_OR_RETURN(const TableView table, ToView(context, std::move(args[0])));
  if (!rows.is_vector()) return TypeError("rows that are no vector");
  TS_ASSIGN_OR_RETURN(Term taken, IndexTerm(context, Term(table), rows));
  TS_ASSIGN_OR_RETURN(TableView view, ToView(context, std::move(taken)));
  Query query;
  query.verb = Query::Verb::kExec;
  query.columns.resize(1);
  TS_ASSIGN_OR_RETURN(query.columns[0].node, NodeOfTree(tree, context.budget));
  return EvaluateQueryOver(context, query, std::move(view));
}

// t?row, t?rows: row numbers, or count t for rows that are missing. For a keyed table it finds rows
// of the values, and returns their keys.
Result FindInTable(Context& context, Args args) {
  Budget& budget = context.budget;
  TS_ASSIGN_OR_RETURN(const Value wanted, Take(context, args[1]));
  TS_ASSIGN_OR_RETURN(TableView view, ToView(context, std::move(args[0])));
  const auto keys = static_cast<ptrdiff_t>(view.key_columns);
  TableView searched = view;
  searched.key_columns = 0;
  searched.names.erase(searched.names.begin(), searched.names.begin() + keys);
  searched.columns.erase(searched.columns.begin(), searched.columns.begin() + keys);
  TS_ASSIGN_OR_RETURN(const WantedRows rows, WantedRowsOf(wanted, searched.columns.size(), budget));
  if (rows.columns.size() != searched.columns.size()) {
    return LengthError("{} columns of {}", rows.columns.size(), searched.columns.size());
  }
  TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> found,
                      FindRows(searched, rows.columns, budget));
  TS_RETURN_IF_ERROR(budget.Charge(found.size(), sizeof(int64_t)));
  VectorWriter<int64_t> numbers(Type::kLong, found.size());
  std::ranges::transform(found, numbers.data(), [&](uint32_t at) {
    return static_cast<int64_t>(at == kNoItem ? view.count() : at);
  });
  Value positions = std::move(numbers).Finish();
  if (rows.one) positions = ItemAt(positions, 0);
  if (keys == 0) return positions;
  view.names.resize(view.key_columns);
  view.columns.erase(view.columns.begin() + keys, view.columns.end());
  view.key_columns = 0;
  return IndexTerm(context, Term(std::move(view)), positions);
}

bool IsTableOrName(const Term& term) {
  const auto* value = std::get_if<Value>(&term);
  return std::holds_alternative<TableView>(term) ||
         (value != nullptr && (IsTableValue(*value) || value->is_atom_of(Type::kSymbol)));
}

// Returns whether it is n?x, which draws n numbers or items.
bool IsDraw(const Term& x) {
  const auto* value = std::get_if<Value>(&x);
  return value != nullptr && value->is_atom() && IndexOf(*value).has_value();
}

Result Question(Context& context, Args args) {
  if (args.size() == 2 && IsDraw(args[0])) return Draw(context, args);
  if (args.size() == 2 && IsTableTerm(args[0])) return FindInTable(context, args);
  if (const auto* const name = std::get_if<Value>(&args[0]);
      args.size() == 2 && name != nullptr && name->is_atom_of(Type::kSymbol)) {
    return NyiError(fmt::format("`{}?, an enumeration", name->symbol()));
  }
  if (args.size() == 2) return Binary<Find>(context, args);
  if (args.size() > 3) return FunctionalSelect(context, args);
  return IsTableOrName(args[0]) ? ExecOfRows(context, args) : Choose(context, args);
}

Result Fby(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value pair, Take(context, args[0]));
  return FromValue(FilterBy(context, pair, std::move(args[1])));
}

constexpr std::array kQueryTable = {
    With(Builtin::kDraws, Builtin{"?", 2, 6, true, Question, true}),
    With(Builtin::kPure, Builtin{"fby", 2, 2, true, Fby, true}),
};

}  // namespace

std::span<const Builtin> QueryFunctions() { return kQueryTable; }

}  // namespace tickstack::query::builtins
