// Functions of tables.

#include <array>
#include <optional>

#include "query/asof_join.h"
#include "query/builtins.h"
#include "query/nbbo.h"

namespace tickstack::query::builtins {
namespace {

Result Tables(Context& context, Args) {
  SymbolVector names;
  for (const std::string& name : context.environment.TableNames()) names.push_back(name);
  return Value::Symbols(std::move(names));
}

Result Cols(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const TableView view, ToView(context, std::move(args[0])));
  SymbolVector names;
  for (const std::string& name : view.names) names.push_back(name);
  return Value::Symbols(std::move(names));
}

Result Keys(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const TableView view, ToView(context, std::move(args[0])));
  SymbolVector names;
  for (size_t i = 0; i < view.key_columns; ++i) names.push_back(view.names[i]);
  return Value::Symbols(std::move(names));
}

std::string_view LetterOfAttribute(Attribute attribute) {
  constexpr std::array<std::string_view, 5> kLetters = {"", "s", "u", "p", "g"};
  const auto at = static_cast<size_t>(attribute);
  return at < kLetters.size() ? kLetters[at] : "";
}

// A nested column has the capital letter of its first item, if that is a vector.
absl::StatusOr<char> MetaLetter(const TableView& view, size_t column) {
  const Type type = view.columns[column].type();
  if (type != Type::kList) return LetterOf(type);
  if (view.count() == 0) return ' ';
  TS_ASSIGN_OR_RETURN(const Value item, view.columns[column].At(view.rows->At(0)));
  if (!item.is_vector()) return ' ';
  return static_cast<char>(LetterOf(item.type()) - 'a' + 'A');
}

std::string_view MetaAttribute(const ViewColumn& column) {
  const Column* const gathered = column.gathered();
  if (gathered == nullptr) return "";
  if (!gathered->captured()) return LetterOfAttribute(gathered->value()->attribute());
  const int indexed = gathered->snapshot().table().indexed_column();
  return indexed == static_cast<int>(gathered->index()) ? "g" : "";
}

Result Meta(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const TableView view, ToView(context, std::move(args[0])));
  SymbolVector names, foreign, attributes;
  std::string types;
  for (size_t i = 0; i < view.columns.size(); ++i) {
    TS_ASSIGN_OR_RETURN(const char letter, MetaLetter(view, i));
    names.push_back(view.names[i]);
    types.push_back(letter);
    foreign.push_back("");
    attributes.push_back(MetaAttribute(view.columns[i]));
  }
  Value keys = Value::Table({"c"}, {Value::Symbols(std::move(names))});
  Value values =
      Value::Table({"t", "f", "a"}, {Value::String(types), Value::Symbols(std::move(foreign)),
                                     Value::Symbols(std::move(attributes))});
  return Value::KeyedTable(std::move(keys), std::move(values));
}

Result NbboOf(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const TableView table, ToView(context, std::move(args[1])));
  TS_ASSIGN_OR_RETURN(const Value columns, Take(context, args[0]));
  TS_ASSIGN_OR_RETURN(TableView best, Nbbo(columns, table, context.budget));
  return best;
}

// The fourth argument, a maximum age, is an extension of q.
template <AsofTime time>
Result Aj(Context& context, Args args) {
  std::optional<Value> max_age;
  if (args.size() == 4) {
    TS_ASSIGN_OR_RETURN(max_age, Take(context, args[3]));
  }
  TS_ASSIGN_OR_RETURN(const TableView right, ToView(context, std::move(args[2])));
  TS_ASSIGN_OR_RETURN(const TableView left, ToView(context, std::move(args[1])));
  TS_ASSIGN_OR_RETURN(const Value columns, Take(context, args[0]));
  TS_ASSIGN_OR_RETURN(TableView joined, AsofJoin(columns, left, right, time,
                                                 max_age ? &*max_age : nullptr, context.budget));
  return joined;
}

constexpr std::array kTable = {
    Builtin{"tables", 1, 1, false, Tables},
    Builtin{"cols", 1, 1, false, Cols},
    Builtin{"keys", 1, 1, false, Keys},
    Builtin{"meta", 1, 1, false, Meta},
    Builtin{"aj", 3, 4, false, Aj<AsofTime::kLeft>},
    Builtin{"aj0", 3, 4, false, Aj<AsofTime::kRight>},
    Builtin{"nbbo", 2, 2, false, NbboOf},
};

}  // namespace

std::span<const Builtin> Tables() { return kTable; }

}  // namespace tickstack::query::builtins
