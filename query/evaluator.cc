#include "query/evaluator.h"

#include <algorithm>

#include "base/time.h"
#include "query/casts.h"
#include "query/elements.h"
#include "query/errors.h"
#include "query/gather.h"
#include "query/partitions.h"
#include "query/select.h"
#include "query/type_rules.h"

namespace tickstack::query {
namespace {

template <typename... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};

// `.z.p` and its kin, all UTC.
std::optional<Value> FindClock(Context& context, std::string_view name) {
  if (!name.starts_with(".z.") || name.size() != 4) return std::nullopt;
  const int64_t now = context.environment.NowNs();
  const int32_t day = DayOf(now);
  const int64_t of_day = now - int64_t{day} * kNsPerDay;
  switch (name[3]) {
    case 'p':
      return Value::Timestamp(now);
    case 'd':
      return Value::Date(day);
    case 'n':
      return Value::Timespan(of_day);
    case 't':
      return Value::Atom(Type::kTime, static_cast<int32_t>(of_day / 1'000'000));
    case 'z':
      return Value::Atom(Type::kDatetime,
                         static_cast<double>(now) / static_cast<double>(kNsPerDay));
    default:
      return std::nullopt;
  }
}

// Row numbers inside a query: positions among the rows of its source; of a stored table in the
// row's partition.
Value VirtualColumn(const Scope& scope) {
  if (scope.view->stored != nullptr) {
    return Value::Vector(Type::kLong,
                         std::span<const int64_t>(RowsInParts(*scope.view->stored, *scope.rows)));
  }
  const ScratchVector<int64_t> positions = scope.rows->PositionsIn(*scope.view->rows);
  return Value::Vector(Type::kLong, std::span<const int64_t>(positions));
}

// `time.minute`: a time's part, or the time as another type, behind the dot.
absl::StatusOr<Value> DottedPart(const Slice& slice, std::string_view name, size_t dot,
                                 Budget& budget) {
  const std::optional<CastTarget> target = FindCastTarget(name.substr(dot + 1));
  const bool part = target.has_value() && (target->part.has_value() || IsTemporal(target->type));
  if (!part || !IsTemporal(slice.type())) return NyiError(name);
  return CastColumn(slice, *target, budget);
}

// `x.minute` of a value of the process.
absl::StatusOr<std::optional<Term>> FindDottedValue(Context& context, std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return std::nullopt;
  if (!FindCastTarget(name.substr(dot + 1)).has_value()) return std::nullopt;
  const std::optional<Value> value = context.environment.FindValue(name.substr(0, dot));
  if (!value.has_value() || !(value->is_atom() || value->is_vector())) return std::nullopt;
  const Slice slice = Slice::Of(value->is_atom() ? Enlist(*value) : *value);
  TS_ASSIGN_OR_RETURN(Value part, DottedPart(slice, name, dot, context.budget));
  return Term(value->is_atom() ? ItemAt(part, 0) : std::move(part));
}

absl::StatusOr<std::optional<Term>> FindInScope(Context& context, std::string_view name) {
  if (context.scope == nullptr) return std::nullopt;
  const Scope& scope = *context.scope;
  if (const int column = scope.view->Find(name); column >= 0) {
    TS_ASSIGN_OR_RETURN(Slice named, scope.view->columns[static_cast<size_t>(column)].SliceAt(
                                         scope.rows, context.budget));
    return Term(std::move(named));
  }
  if (const size_t dot = name.find('.'); dot != std::string_view::npos) {
    const int column = scope.view->Find(name.substr(0, dot));
    if (column >= 0) {
      TS_ASSIGN_OR_RETURN(Column named,
                          scope.view->columns[static_cast<size_t>(column)].Get(context.budget));
      const Slice slice{std::move(named), scope.rows};
      TS_ASSIGN_OR_RETURN(Value part, DottedPart(slice, name, dot, context.budget));
      return Term(std::move(part));
    }
  }
  if (name != "i") return std::nullopt;
  TS_RETURN_IF_ERROR(context.budget.Charge(scope.rows->count(), 2 * sizeof(int64_t)));
  return Term(VirtualColumn(scope));
}

bool IsFunction(const Term& term) { return std::holds_alternative<const Builtin*>(term); }

std::optional<int64_t> IndexOf(const Value& atom) {
  switch (atom.type()) {
    case Type::kBoolean:
    case Type::kByte:
      return atom.as<uint8_t>();
    case Type::kShort:
      return atom.as<int16_t>() == kNullShort ? kNullLong : atom.as<int16_t>();
    case Type::kInt:
      return atom.as<int32_t>() == kNullInt ? kNullLong : atom.as<int32_t>();
    case Type::kLong:
      return atom.as<int64_t>();
    default:
      return std::nullopt;
  }
}

// The positions that an index asks for; kNoItem where it lies outside.
absl::StatusOr<ScratchVector<uint32_t>> PositionsOf(const Value& index, size_t count) {
  ScratchVector<uint32_t> positions;
  const size_t n = index.count();
  positions.reserve(n);
  for (size_t i = 0; i < n; ++i) {
    const Value atom = index.is_atom() ? index : ItemAt(index, i);
    const std::optional<int64_t> at = atom.is_atom() ? IndexOf(atom) : std::optional<int64_t>();
    if (!at.has_value()) return TypeError("an index of {}", NameOf(index.type()));
    const bool inside = *at >= 0 && static_cast<uint64_t>(*at) < count;
    positions.push_back(inside ? static_cast<uint32_t>(*at) : kNoItem);
  }
  return positions;
}

// What taking items at `n` positions builds: the positions, and elements or items.
absl::Status ChargeTaking(const Value& list, size_t n, Budget& budget) {
  if (list.is_list()) return budget.ChargeItems(n);
  return budget.Charge(n, sizeof(uint32_t) + sizeof(Guid));
}

absl::StatusOr<Value> IndexList(const Value& list, const Value& index, Budget& budget, int depth) {
  if (depth > 100) return StackError("an index more than 100 deep");
  if (index.is_list()) {
    TS_RETURN_IF_ERROR(budget.ChargeItems(index.count()));
    std::vector<Value> items;
    for (const Value& item : index.items()) {
      TS_ASSIGN_OR_RETURN(Value taken, IndexList(list, item, budget, depth + 1));
      items.push_back(std::move(taken));
    }
    return Collapse(std::move(items));
  }
  if (!index.is_atom() && !index.is_vector()) return TypeError("an index that is no number");
  TS_RETURN_IF_ERROR(ChargeTaking(list, index.count(), budget));
  TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> positions, PositionsOf(index, list.count()));
  if (!index.is_atom()) return TakeItems(list, positions);
  const Value one = TakeItems(list, positions);
  return ItemAt(one, 0);
}

// The position of an item among a dictionary's keys.
uint32_t FindKey(const Value& keys, const Value& item) {
  for (uint32_t i = 0; i < keys.count(); ++i) {
    if (Match(ItemAt(keys, i), item)) return i;
  }
  return kNoItem;
}

absl::StatusOr<Value> IndexDict(const Value& dict, const Value& index, Budget& budget) {
  const Value &keys = dict.keys(), &values = dict.values();
  if (keys.is_table() || values.is_table()) return NyiError("index of a keyed table");
  if (!(values.is_vector() || values.is_list()) || !(keys.is_vector() || keys.is_list()) ||
      values.count() != keys.count()) {
    return TypeError("a dictionary that is no pair of lists");
  }
  const bool one = index.is_atom() || !keys.is_vector();
  if (!one && !index.is_vector()) return TypeError("a key that is no item");
  TS_RETURN_IF_ERROR(ChargeTaking(values, index.count(), budget));
  ScratchVector<uint32_t> positions;
  for (size_t i = 0; i < (one ? 1 : index.count()); ++i) {
    TS_RETURN_IF_ERROR(budget.CheckTime());  // Each is a search through the keys.
    positions.push_back(FindKey(keys, one ? index : ItemAt(index, i)));
  }
  const Value taken = TakeItems(values, positions);
  return one ? ItemAt(taken, 0) : taken;
}

// A table by column name or by row number.
absl::StatusOr<Term> IndexView(Context& context, const TableView& view, const Value& index) {
  if (view.key_columns > 0) return NyiError("index of a keyed table");
  if (index.type() == Type::kSymbol) {
    const size_t n = index.count();
    std::vector<Value> columns;
    for (size_t i = 0; i < n; ++i) {
      const std::string_view name = index.is_atom() ? index.symbol() : index.symbols()[i];
      const int column = view.Find(name);
      if (column < 0) return NameError(name);
      TS_ASSIGN_OR_RETURN(Slice slice, view.ColumnAt(static_cast<size_t>(column), context.budget));
      if (index.is_atom()) return slice;
      TS_ASSIGN_OR_RETURN(Value copied, Materialise(slice, context.budget));
      columns.push_back(std::move(copied));
    }
    return Value::List(std::move(columns));
  }
  if (!index.is_atom() && !index.is_vector()) return TypeError("a row that is no number");
  TS_ASSIGN_OR_RETURN(ScratchVector<uint32_t> positions, PositionsOf(index, view.count()));
  if (index.is_atom()) {
    TS_ASSIGN_OR_RETURN(Value row, RowAt(view, positions[0]));
    return row;
  }
  for (uint32_t& at : positions) {
    if (at != kNoItem) at = static_cast<uint32_t>(view.rows->At(at));
  }
  std::vector<Value> columns;
  for (const ViewColumn& column : view.columns) {
    TS_ASSIGN_OR_RETURN(const Column whole, column.Get(context.budget));
    TS_ASSIGN_OR_RETURN(Value taken, GatherRows(whole, positions, context.budget));
    columns.push_back(std::move(taken));
  }
  return ViewOf(view.names, std::move(columns));
}

absl::StatusOr<Term> IndexTerm(Context& context, const Term& x, const Value& index) {
  if (const auto* view = std::get_if<TableView>(&x)) return IndexView(context, *view, index);
  if (const auto* slice = std::get_if<Slice>(&x)) {
    if (index.is_atom()) {  // One item needs no copy of its column.
      TS_ASSIGN_OR_RETURN(const auto positions, PositionsOf(index, slice->count()));
      if (positions[0] == kNoItem) return NullOf(slice->type());
      TS_ASSIGN_OR_RETURN(Value item, slice->At(positions[0]));
      return item;
    }
    TS_ASSIGN_OR_RETURN(const Value vector, Materialise(*slice, context.budget));
    return IndexTerm(context, vector, index);
  }
  const Value& value = std::get<Value>(x);
  if (value.is_table() || value.is_keyed_table()) {
    TS_ASSIGN_OR_RETURN(const TableView view, ViewOf(value));
    return IndexView(context, view, index);
  }
  absl::StatusOr<Value> result =
      value.is_dict() ? IndexDict(value, index, context.budget)
      : value.is_vector() || value.is_list()
          ? IndexList(value, index, context.budget, 0)
          : absl::StatusOr<Value>(TypeError("a {} applied to a value", NameOf(value.type())));
  TS_RETURN_IF_ERROR(result.status());
  return *std::move(result);
}

absl::StatusOr<Term> EvaluateApply(Context& context, const Node& node) {
  std::vector<Term> args(node.children.size() - 1);
  for (size_t i = args.size(); i > 0; --i) {
    TS_ASSIGN_OR_RETURN(args[i - 1], EvaluateNode(context, *node.children[i]));
  }
  const Node& function = *node.children[0];
  if (function.kind == Node::Kind::kFunction) return Apply(context, *function.function, args);
  if (function.kind == Node::Kind::kName) return CallName(context, function.name, args);
  TS_ASSIGN_OR_RETURN(Term x, EvaluateNode(context, function));
  return ApplyTerm(context, std::move(x), args);
}

absl::StatusOr<Term> EvaluateList(Context& context, const Node& node) {
  std::vector<Value> items(node.children.size());
  for (size_t i = items.size(); i > 0; --i) {
    TS_ASSIGN_OR_RETURN(items[i - 1], EvaluateToValue(context, *node.children[i - 1]));
  }
  return Collapse(std::move(items));
}

// Columns of one table literal: vectors of one count; atoms are repeated.
absl::StatusOr<Term> EvaluateTable(Context& context, const Node& node) {
  std::vector<Value> columns;
  std::optional<size_t> rows;
  for (const NodePtr& child : node.children) {
    TS_ASSIGN_OR_RETURN(Value column, EvaluateToValue(context, *child));
    const bool vector = column.is_vector() || column.is_list();
    if (!vector && !column.is_atom()) return TypeError("a column of {}", NameOf(column.type()));
    if (vector && rows.has_value() && *rows != column.count()) {
      return LengthError("columns of {} and {} rows", *rows, column.count());
    }
    if (vector) rows = column.count();
    columns.push_back(std::move(column));
  }
  if (!rows.has_value()) return RankError("a table of atoms; enlist one of them");
  for (Value& column : columns) {
    if (!column.is_atom()) continue;
    TS_RETURN_IF_ERROR(context.budget.Charge(*rows, 16));
    column = Repeat(column, *rows);
  }
  TableView view = ViewOf(node.names, std::move(columns));
  view.key_columns = node.key_columns;
  return view;
}

absl::StatusOr<Term> EvaluateCond(Context& context, const Node& node) {
  size_t at = 0;
  for (; at + 1 < node.children.size(); at += 2) {
    TS_ASSIGN_OR_RETURN(const Value test, EvaluateToValue(context, *node.children[at]));
    const std::optional<int64_t> flag = test.is_atom() ? IndexOf(test) : std::nullopt;
    if (!flag.has_value()) return TypeError("a test of {}", NameOf(test.type()));
    if (*flag != 0) return EvaluateNode(context, *node.children[at + 1]);
  }
  return EvaluateNode(context, *node.children[at]);
}

}  // namespace

absl::StatusOr<Value> ToValue(Term term, Budget& budget) {
  return std::visit(
      Overloaded{
          [](Value& value) -> absl::StatusOr<Value> { return std::move(value); },
          [&](Slice& slice) { return Release(std::move(slice), budget); },
          [&](TableView& view) { return Release(std::move(view), budget); },
          [](const Builtin*& builtin) -> absl::StatusOr<Value> { return NyiError(builtin->name); }},
      term);
}

absl::StatusOr<Term> Apply(Context& context, const Builtin& builtin, std::span<Term> args) {
  TS_RETURN_IF_ERROR(context.budget.CheckTime());
  if (args.size() > builtin.max_args) {
    return RankError("{} arguments for {}, which takes {}", args.size(), builtin.name,
                     builtin.max_args);
  }
  if (args.size() < builtin.min_args) return NyiError(fmt::format("{}[;]", builtin.name));
  return builtin.apply(context, args);
}

absl::StatusOr<Term> FindName(Context& context, std::string_view name) {
  TS_ASSIGN_OR_RETURN(std::optional<Term> found, FindInScope(context, name));
  if (found.has_value()) return *std::move(found);
  if (std::optional<Value> clock = FindClock(context, name)) return *std::move(clock);
  if (std::optional<Snapshot> table = context.environment.FindTable(name)) return ViewOf(*table);
  if (const std::shared_ptr<const StoredTable> stored = context.environment.FindStored(name)) {
    TS_ASSIGN_OR_RETURN(std::shared_ptr<const StoredParts> parts, AllParts(stored, context.budget));
    return ViewOf(std::move(parts));
  }
  if (std::optional<Value> value = context.environment.FindValue(name)) return *std::move(value);
  if (const Builtin* builtin = FindBuiltin(name); builtin != nullptr) return builtin;
  TS_ASSIGN_OR_RETURN(found, FindDottedValue(context, name));
  if (found.has_value()) return *std::move(found);
  return NameError(name);
}

absl::StatusOr<Term> CallName(Context& context, std::string_view name, std::span<Term> args) {
  absl::StatusOr<Term> found = FindName(context, name);
  if (found.ok()) return ApplyTerm(context, *std::move(found), args);
  if (found.status().code() != absl::StatusCode::kNotFound) return found;
  std::vector<Value> values;
  for (Term& arg : args) {
    TS_ASSIGN_OR_RETURN(Value value, ToValue(std::move(arg), context.budget));
    values.push_back(std::move(value));
  }
  std::optional<absl::StatusOr<Value>> result = context.environment.Call(name, values);
  if (!result.has_value()) return found;
  TS_RETURN_IF_ERROR(result->status());
  return *std::move(*result);
}

absl::StatusOr<Term> ApplyTerm(Context& context, Term x, std::span<Term> args) {
  if (IsFunction(x)) return Apply(context, *std::get<const Builtin*>(x), args);
  if (const auto* value = std::get_if<Value>(&x);
      value != nullptr && value->is_atom_of(Type::kSymbol)) {
    return CallName(context, value->symbol(), args);
  }
  for (size_t i = 0; i < args.size(); ++i) {
    TS_ASSIGN_OR_RETURN(const Value index, ToValue(std::move(args[i]), context.budget));
    if (index.is_null()) continue;  // x[] is x.
    // x[i;j] goes down one level an index; with more than one item on the way it would be a matrix.
    if (i + 1 < args.size() && !index.is_atom()) return NyiError("index at depth by a list");
    TS_ASSIGN_OR_RETURN(x, IndexTerm(context, x, index));
  }
  return x;
}

absl::StatusOr<TableView> ToView(Context& context, Term term) {
  if (auto* view = std::get_if<TableView>(&term)) return std::move(*view);
  if (auto* value = std::get_if<Value>(&term)) {
    if (value->is_atom_of(Type::kSymbol)) {
      Context global{context.environment, context.budget};
      TS_ASSIGN_OR_RETURN(Term named, FindName(global, value->symbol()));
      if (const auto* again = std::get_if<Value>(&named);
          again != nullptr && again->is_atom_of(Type::kSymbol)) {
        return TypeError("{} is no table", value->symbol());
      }
      return ToView(context, std::move(named));
    }
    return ViewOf(std::move(*value));
  }
  return TypeError("a column or function where a table is expected");
}

absl::StatusOr<Term> EvaluateNode(Context& context, const Node& node) {
  switch (node.kind) {
    case Node::Kind::kConstant:
      return node.value;
    case Node::Kind::kName:
      return FindName(context, node.name);
    case Node::Kind::kFunction:
      return node.function;
    case Node::Kind::kApply:
      return EvaluateApply(context, node);
    case Node::Kind::kList:
      return EvaluateList(context, node);
    case Node::Kind::kTable:
      return EvaluateTable(context, node);
    case Node::Kind::kCond:
      return EvaluateCond(context, node);
    case Node::Kind::kQuery:
      return EvaluateQuery(context, *node.query);
  }
  return NyiError("expression");
}

absl::StatusOr<Value> EvaluateToValue(Context& context, const Node& node) {
  TS_ASSIGN_OR_RETURN(Term term, EvaluateNode(context, node));
  return ToValue(std::move(term), context.budget);
}

}  // namespace tickstack::query
