#include "query/remote/remote_query.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/columns/table_view.h"
#include "query/language/client_handle.h"
#include "query/language/evaluator.h"
#include "query/language/node_copy.h"
#include "query/language/select.h"
#include "query/language/tree_of_node.h"
#include "query/language/variables.h"
#include "query/remote/chosen_days.h"
#include "query/remote/part_rows.h"
#include "query/remote/sendable.h"
#include "query/remote/split_aggregates.h"

namespace tickstack::query {
namespace {

using Side = RemoteTable::Side;

// Returns the columns that the table has, on the side of the last days if it is there, with `date`.
std::vector<std::string> ColumnsOf(const RemoteTable& table) {
  return table.Columns(table.IsOn(Side::kLast) ? Side::kLast : Side::kPast);
}

std::vector<std::string> WithDate(std::vector<std::string> columns) {
  columns.emplace_back(kDateColumn);
  return columns;
}

bool NamesDate(const Sendable& made) {
  return std::ranges::find(made.columns, kDateColumn) != made.columns.end();
}

Value DateIn(std::span<const int32_t> days) {
  std::vector<Value> items;
  items.push_back(Value::Symbol("in"));
  items.push_back(Value::Symbol(kDateColumn));
  items.push_back(Value::Vector(Type::kDate, days));
  return Value::List(std::move(items));
}

// A condition that no row meets.
Value Never() {
  std::vector<Value> items;
  items.push_back(Value::Symbol("in"));
  items.push_back(Value::Symbol("i"));
  items.push_back(Value::Vector(Type::kLong, std::span<const int64_t>()));
  return Value::List(std::move(items));
}

// The columns by which a partition and an rdb order their rows.
constexpr std::string_view kSymColumn = "sym", kTimeColumn = "time";

// The types of `time` by which the rows of a partition are ordered.
bool IsTimeOfRows(Type type) { return type == Type::kTimestamp || type == Type::kTimespan; }

// Replaces `date` by a date.
void SetDate(Node& node, int32_t day) {
  if (node.kind == Node::Kind::kName && node.name == kDateColumn) {
    node.kind = Node::Kind::kConstant;
    node.value = Value::Date(day);
  }
  for (const NodePtr& child : node.children) {
    if (child != nullptr) SetDate(*child, day);
  }
}

class RemoteQuery {
 public:
  RemoteQuery(Context& context, const Query& query, const RemoteTable& table, RowUse use)
      : context_(context),
        query_(query),
        table_(table),
        use_(use),
        shards_(table.Shards()),
        columns_(ColumnsOf(table)),
        names_(WithDate(columns_)) {}

  absl::StatusOr<Term> Run() {
    if (shards_.size() > 1 && table_.KeyColumns() > 0 && !table_.ShardColumn().empty() &&
        !IsKey(table_.ShardColumn())) {
      return NyiError(
          fmt::format("{} over shards: rows of several shards may have one key, "
                      "since {} is not part of it",
                      table_.name(), table_.ShardColumn()));
    }
    TS_ASSIGN_OR_RETURN(const ChosenDays chosen, ChooseDays(context_, query_, table_, names_));
    const bool reads = query_.verb == Query::Verb::kSelect || query_.is_exec();
    if (!reads) return Change(chosen.conditions > 0);
    TS_RETURN_IF_ERROR(Prepare(chosen.conditions));
    const Side side = table_.IsOn(Side::kLast) ? Side::kLast : Side::kPast;
    // Without days, the rows are those of an rdb, or if there is none, of a process with all days.
    const std::span<const int32_t> past = table_.Days(Side::kPast);
    const bool has_all = side == Side::kLast ||
                         (shards_.size() == 1 &&
                          (past.empty() || table_.DaysOfOne(Side::kPast, past) == past.size()));
    const bool by_days = chosen.conditions > 0 || names_date_ || !has_all;
    if (row_number_ && shards_.size() > 1 && !table_.ShardColumn().empty())
      return NyiError("i over rows of several shards");
    TS_ASSIGN_OR_RETURN(const std::vector<Part> parts,
                        by_days ? PartsOf(chosen) : PartsWithoutDays(side));
    if (row_number_ && parts.size() > 1) return NyiError("i over days of several processes");
    return parts.empty() ? OverNoRows(by_days) : Over(parts, by_days);
  }

 private:
  // Rows that one process has.
  struct Part {
    const RemoteTable* shard;
    Side side;
    std::string table;
    std::vector<int32_t> days;   // Empty: those that the process has.
    std::optional<int32_t> day;  // The value of `date`, which the side does not have as a column.
    bool empty = false;          // No rows, only their types.
  };

  static std::string NameOfDay(const std::string& table, int32_t day) {
    return table + std::string(1, kOfDay) + FormatDate(day);
  }

  // Returns the shards whose rows of the last day may meet the conditions: those of the symbols
  // that a condition by item allows.
  std::vector<bool> ShardsOfSymbols() const {
    std::vector<bool> chosen(shards_.size(), true);
    if (table_.ShardColumn().empty()) {
      std::fill(chosen.begin() + 1, chosen.end(), false);
      return chosen;
    }
    for (size_t i = 0; i < by_item_conditions_; ++i) {
      const Value* const symbols = SymbolsOf(*prepared_.conditions[i]);
      if (symbols == nullptr) continue;
      std::vector<bool> of_condition(shards_.size(), false);
      for (size_t k = 0; k < symbols->count(); ++k) {
        const std::string_view symbol =
            symbols->is_atom() ? symbols->symbol() : symbols->symbols()[k];
        if (const std::optional<size_t> shard = table_.ShardOf(symbol)) of_condition[*shard] = true;
      }
      for (size_t k = 0; k < chosen.size(); ++k) chosen[k] = chosen[k] && of_condition[k];
    }
    return chosen;
  }

  // Returns the symbols of a condition such as sym=`A or sym in `A`B; nullptr for any other one.
  const Value* SymbolsOf(const Node& condition) const {
    const Builtin* const called = CalledBuiltin(condition);
    if (called == nullptr || (called->name != "=" && called->name != "in")) return nullptr;
    const Node *column = condition.children[1].get(), *symbols = condition.children[2].get();
    if (called->name == "=" && IsShardColumn(*symbols)) std::swap(column, symbols);
    if (!IsShardColumn(*column) || symbols->kind != Node::Kind::kConstant) return nullptr;
    const Value& value = symbols->value;
    if (value.is_atom_of(Type::kSymbol)) return &value;
    return called->name == "in" && value.is(Type::kSymbol) ? &value : nullptr;
  }

  // True for a column of the key that the table has on the last side.
  bool IsKey(std::string_view column) const {
    const std::vector<std::string> columns = table_.LastColumns();
    const auto keys = std::span(columns).first(std::min(table_.KeyColumns(), columns.size()));
    return std::ranges::find(keys, column) != keys.end();
  }

  bool IsShardColumn(const Node& node) const {
    return node.kind == Node::Kind::kName && node.name == table_.ShardColumn();
  }

  // The rows of `side` as a process of each shard sees them.
  absl::StatusOr<std::vector<Part>> PartsWithoutDays(Side side) const {
    const std::vector<bool> chosen = ShardsOfSymbols();
    std::vector<Part> parts;
    for (size_t i = 0; i < shards_.size(); ++i) {
      if (!chosen[i]) continue;
      TS_RETURN_IF_ERROR(shards_[i]->status());
      if (!shards_[i]->IsOn(side)) return LacksTable(*shards_[i]);
      parts.push_back({shards_[i], side, table_.name(), {}, {}});
    }
    return parts;
  }

  absl::StatusOr<std::vector<Part>> PartsOf(const ChosenDays& chosen) const {
    const std::span<const int32_t> last = table_.Days(Side::kLast);
    const auto is_today = [&last](int32_t day) { return !last.empty() && day == last.back(); };
    const bool only_today = chosen.days.size() == 1 && is_today(chosen.days.front());
    const std::vector<bool> of_symbols = ShardsOfSymbols();
    std::vector<Part> parts;
    for (size_t i = 0; i < shards_.size(); ++i) {
      const RemoteTable& shard = *shards_[i];
      if (!of_symbols[i] && only_today) continue;
      TS_RETURN_IF_ERROR(shard.status());
      const bool has_last = of_symbols[i] && std::ranges::any_of(chosen.days, [&](int32_t day) {
                              return std::ranges::binary_search(last, day);
                            });
      if (has_last && !shard.IsOn(Side::kLast)) return LacksTable(shard);
      std::vector<int32_t> days = chosen.days;
      // Earlier days may have been captured with other symbols in this shard.
      if (!of_symbols[i]) std::erase_if(days, is_today);
      if (!days.empty()) TS_RETURN_IF_ERROR(shard.StatusOf(days.back()));
      const auto of = [&](Side side) {
        std::vector<int32_t> of_side;
        std::ranges::set_intersection(days, shard.Days(side), std::back_inserter(of_side));
        return of_side;
      };
      const std::vector<int32_t> all_past = of(Side::kPast);
      std::span<const int32_t> past = all_past;
      while (!past.empty()) {
        const auto of_one = past.first(shard.DaysOfOne(Side::kPast, past));
        parts.push_back({&shard, Side::kPast, table_.name(), {of_one.begin(), of_one.end()}, {}});
        past = past.subspan(of_one.size());
      }
      for (const int32_t day : of(Side::kLast)) {
        parts.push_back({&shard, Side::kLast, NameOfDay(table_.name(), day), {day}, day});
      }
    }
    return parts;
  }

  // The error of a shard whose rows of the last days would be missing.
  absl::Status LacksTable(const RemoteTable& shard) const {
    return QError(absl::StatusCode::kFailedPrecondition, "schema",
                  fmt::format("no rdb of shard {} has {}: expected the same tables in all shards",
                              shard.shard(), table_.name()));
  }

  // Evaluates the query over no rows, in any process that has the table and answers. Without days,
  // the result has the columns of the last side.
  absl::StatusOr<Term> OverNoRows(bool by_days) {
    std::vector<Part> candidates;
    for (const RemoteTable* const shard : shards_) {
      const std::span<const int32_t> past = shard->Days(Side::kPast);
      if (!by_days || !shard->status().ok() || past.empty()) continue;
      candidates.push_back({shard, Side::kPast, table_.name(), {past.back()}, {}, true});
    }
    for (const RemoteTable* const shard : shards_) {
      if (!shard->status().ok() || !shard->IsOn(Side::kLast)) continue;
      const std::optional<int32_t> day = by_days ? std::optional(0) : std::nullopt;
      candidates.push_back({shard, Side::kLast, table_.name(), {}, day, true});
    }
    absl::StatusOr<Term> term =
        absl::UnavailableError(AbslView(fmt::format("no process has {} now", table_.name())));
    for (const Part& candidate : candidates) {
      term = Over({candidate}, by_days);
      if (!absl::IsUnavailable(term.status())) break;
    }
    return term;
  }

  // Makes the expressions ready to be sent: conditions from the left, then the groups, then the
  // columns, in the order in which a process evaluates them.
  absl::Status Prepare(size_t conditions) {
    const auto make = [this](const Node& node) -> absl::StatusOr<NodePtr> {
      TS_ASSIGN_OR_RETURN(Sendable made, MakeSendable(context_, node, names_));
      sendable_ &= made.sendable;
      row_number_ |= made.row_number;
      for (const std::string& name : made.columns) wanted_.insert(name);
      names_date_ |= NamesDate(made);
      return std::move(made.node);
    };
    prepared_.verb = query_.verb;
    prepared_.distinct = query_.distinct;
    prepared_.descending = query_.descending;
    prepared_.grouped = query_.grouped;
    prepared_.source = NameNode(table_.name());
    bool by_item = true;
    for (size_t i = conditions; i < query_.conditions.size(); ++i) {
      TS_ASSIGN_OR_RETURN(Sendable made, MakeSendable(context_, *query_.conditions[i], names_));
      names_date_ |= NamesDate(made);
      row_number_ |= made.row_number;
      sendable_ &= made.sendable;
      by_item &= made.by_item;
      of_conditions_.insert(made.columns.begin(), made.columns.end());
      if (by_item) ++by_item_conditions_;
      prepared_.conditions.push_back(std::move(made.node));
    }
    for (const NamedNode& group : query_.groups) {
      TS_ASSIGN_OR_RETURN(NodePtr node, make(*group.node));
      prepared_.groups.push_back({group.name, group.named, std::move(node)});
    }
    if (query_.order != nullptr) {
      TS_ASSIGN_OR_RETURN(prepared_.order, make(*query_.order));
    }
    if (query_.limit != nullptr) {
      TS_ASSIGN_OR_RETURN(prepared_.limit, make(*query_.limit));
    }
    for (const NamedNode& column : query_.columns) {
      TS_ASSIGN_OR_RETURN(NodePtr node, make(*column.node));
      prepared_.columns.push_back({column.name, column.named, std::move(node)});
    }
    sendable_ &= HasFunctionalForm();
    return absl::OkStatus();
  }

  // False for `by 0b`, and for an exec by groups that has no columns or a column with the name of a
  // group: their functional forms mean something else.
  bool HasFunctionalForm() const {
    if (query_.GroupsByNothing()) return false;
    if (!query_.is_exec() || !query_.grouped) return true;
    if (query_.columns.empty()) return false;
    return std::ranges::none_of(query_.columns, [this](const NamedNode& column) {
      return std::ranges::find(query_.groups, column.name, &NamedNode::name) != query_.groups.end();
    });
  }

  absl::StatusOr<Term> Over(const std::vector<Part>& parts, bool with_date) {
    const bool same_columns = std::ranges::all_of(parts, [&](const Part& part) {
      return std::ranges::is_permutation(part.shard->Columns(part.side), columns_);
    });
    if (parts.size() > 1 && !same_columns) {
      return QError(
          absl::StatusCode::kFailedPrecondition, "schema",
          fmt::format("{} has other columns in past days than in the last ones{}", table_.name(),
                      shards_.size() > 1 ? ", or in one shard than in another" : ""));
    }
    const Part& first = parts.front();
    const bool all_columns = query_.columns.empty();
    const bool lacks_date = first.day.has_value() && (names_date_ || all_columns);
    if (parts.size() == 1 && sendable_ && !lacks_date) return Whole(first);
    const bool conditions_by_item = by_item_conditions_ == prepared_.conditions.size();
    const bool of_shards =
        std::ranges::any_of(parts, [&](const Part& part) { return part.shard != first.shard; });
    const RowOrder order = of_shards ? OrderFor() : RowOrder::kOfParts;
    if (sendable_ && conditions_by_item) {
      std::optional<SplitQuery> split = Split(prepared_, names_);
      const bool ordered = split && of_shards && split->ordered;
      // The first row of each kind, in the order of the parts.
      const bool distinct = query_.distinct && of_shards;
      const bool any_order = use_.any_order && use_.sorted_by == nullptr;
      if (split && (!ordered || order == RowOrder::kOfDays) && (!distinct || any_order)) {
        if (ordered && with_date && !split->date_group) {
          // A symbol may be in one shard on one day and in another shard on the next.
          split->date_group = split->of_part->groups.size();
          split->of_part->groups.push_back({std::string(kDateColumn), true, NameNode(kDateColumn)});
        }
        TS_ASSIGN_OR_RETURN(std::optional<Term> combined, Combine(parts, *split));
        if (combined.has_value()) return *std::move(combined);
      }
    }
    return Locally(parts, with_date, order);
  }

  // Which order the rows of several shards must have.
  enum class RowOrder : uint8_t {
    kOfParts,     // Any that keeps those of a part.
    kOfDays,      // By day; rows of one symbol keep their order, which is that of one process.
    kPreferably,  // That of one process, or if it cannot be known, by day and shard: row_order.h.
    kOfRows,      // That of one process.
  };

  // True if all rows of a group of one day have the same symbol. The other groups must go by row,
  // too: one such as `differ sym` is about all rows.
  bool AreOfOneShard(std::span<const NamedNode> groups) const {
    const auto by_row = [this](const NamedNode& group) {
      const Node& node = *group.node;
      const bool column = node.kind == Node::Kind::kName &&
                          std::ranges::find(names_, BeforeDot(node.name)) != names_.end();
      return column || GoesByItem(node, names_);
    };
    const auto of_shard = [this](const NamedNode& group) { return IsShardColumn(*group.node); };
    return std::ranges::any_of(groups, of_shard) && std::ranges::all_of(groups, by_row);
  }

  RowOrder OrderFor() const {
    if (needs_order_) return RowOrder::kOfRows;
    const auto by_item = [this](const NamedNode& named) { return GoesByItem(*named.node, names_); };
    const auto row_or_distinct = [this](const NamedNode& named) {
      const Builtin* const called = CalledBuiltin(*named.node);
      // The items of several such columns would be paired.
      const bool distinct =
          called != nullptr && called->name == "distinct" && prepared_.columns.size() == 1;
      return NeedsNoOrder(distinct ? *named.node->children.back() : *named.node, names_);
    };
    const bool free_conditions = std::ranges::all_of(
        prepared_.conditions,
        [this](const NodePtr& condition) { return NeedsNoOrder(*condition, names_); });
    const bool plain =
        free_conditions && sendable_ && prepared_.limit == nullptr && prepared_.order == nullptr;
    const auto order_free = [this](const NamedNode& named) {
      return IsOrderFree(*named.node, names_);
    };
    const bool aggregates = plain && !prepared_.columns.empty() && !prepared_.distinct &&
                            std::ranges::all_of(prepared_.groups, by_item) &&
                            std::ranges::all_of(prepared_.columns, order_free);
    if (aggregates) return RowOrder::kOfParts;
    const bool limited = prepared_.limit != nullptr || prepared_.order != nullptr;
    if (free_conditions && !limited && AreOfOneShard(prepared_.groups)) return RowOrder::kOfDays;
    const bool rows =
        plain && !prepared_.grouped && std::ranges::all_of(prepared_.columns, row_or_distinct);
    return rows && IsInAnyOrder() ? RowOrder::kPreferably : RowOrder::kOfRows;
  }

  // True if the result may have its rows in any order that keeps those of a symbol in theirs. If
  // they are sorted afterwards, that must be by symbol, in a column that has not changed.
  bool IsInAnyOrder() const {
    if (!use_.any_order || use_.sorted_by == nullptr) return use_.any_order;
    const Value& columns = *use_.sorted_by;
    const std::string_view of_shard = table_.ShardColumn();
    bool by_symbol = false;
    for (size_t i = 0; i < columns.count(); ++i) {
      by_symbol |= (columns.is_atom() ? columns.symbol() : columns.symbols()[i]) == of_shard;
    }
    if (!by_symbol || of_shard.empty()) return false;
    if (query_.grouped && query_.verb != Query::Verb::kUpdate) return false;
    const auto changes = [&](const NamedNode& named) {
      return named.name == of_shard && !IsShardColumn(*named.node);
    };
    // A second column of the name gets another one.
    const auto first = std::ranges::find(query_.columns, of_shard, &NamedNode::name);
    const bool keeps = first != query_.columns.end() && IsShardColumn(*first->node);
    switch (query_.verb) {
      case Query::Verb::kSelect:
        return query_.columns.empty() || keeps;
      case Query::Verb::kExec:
        return false;
      case Query::Verb::kUpdate:
        return std::ranges::none_of(query_.columns, changes);
      case Query::Verb::kDelete:
        return true;
    }
    return false;
  }

  // Returns the conditions for a part, the first `count` of those that are not about days.
  absl::StatusOr<Value> Conditions(const Part& part, size_t count) {
    std::vector<Value> conditions;
    if (part.empty) {
      conditions.push_back(part.side == Side::kPast ? DateIn({}) : Never());
    } else if (part.side == Side::kPast && !part.days.empty()) {
      conditions.push_back(DateIn(part.days));
    } else if (part.day && IsKey(kDateColumn)) {
      // Rows of other dates will not be in the partition (disk/rows_of_date.h).
      conditions.push_back(DateIn(part.days));
    }
    for (size_t i = 0; i < count; ++i) {
      NodePtr condition = CopyOf(*prepared_.conditions[i]);
      if (part.day) SetDate(*condition, *part.day);
      TS_ASSIGN_OR_RETURN(conditions.emplace_back(), TreeOfNode(*condition, context_.budget));
    }
    if (conditions.empty()) return Value::List({});
    return QuotedTree(Value::List(std::move(conditions)));
  }

  // Returns the tree of a query for a part, with the first `conditions` conditions that are not
  // about days.
  absl::StatusOr<Value> TreeFor(const Part& part, const Query& query, size_t conditions) {
    TS_ASSIGN_OR_RETURN(const Value tree, TreeOfQuery(query, context_.budget));
    std::vector<Value> items;
    items.push_back(ItemAt(tree, 0));
    items.push_back(QuotedTree(Value::Symbol(part.table)));
    TS_ASSIGN_OR_RETURN(items.emplace_back(), Conditions(part, conditions));
    for (size_t i = 3; i < tree.count(); ++i) items.push_back(ItemAt(tree, i));
    return Value::List(std::move(items));
  }

  // Sends a query to each part, to all of them at the same time if the processes can answer so, and
  // calls `take(part, answer)` with the answers in the order of the parts. All answers are charged
  // before the first one is taken, since they are in memory together. If `take` returns false, or a
  // part fails, the answers of the later parts are dropped, whether they are errors or not.
  // `query_for(part)` returns the query.
  template <typename QueryFor, typename Take>
  absl::Status SendToEach(const std::vector<Part>& parts, size_t conditions, QueryFor query_for,
                          Take take) {
    std::vector<RemoteTable::Part> asked;
    for (const Part& part : parts) {
      TS_ASSIGN_OR_RETURN(Value tree, TreeFor(part, query_for(part), conditions));
      asked.push_back({part.shard, part.side, part.days, std::move(tree)});
    }
    Limits limits = context_.budget.limits();
    limits.sink = nullptr;
    limits.max_result_bytes = context_.budget.LeftBytes();
    std::vector<absl::StatusOr<Value>> answers = table_.AskAll(std::move(asked), limits);
    for (const absl::StatusOr<Value>& answer : answers) {
      if (answer.ok()) TS_RETURN_IF_ERROR(context_.budget.Charge(ApproximateBytes(*answer)));
    }
    for (size_t i = 0; i < parts.size(); ++i) {
      TS_ASSIGN_OR_RETURN(Value answer, std::move(answers[i]));
      TS_ASSIGN_OR_RETURN(const bool wants_more, take(parts[i], std::move(answer)));
      if (!wants_more) break;
    }
    return absl::OkStatus();
  }

  // Returns what may take the result, if that is the answer to the client and nothing goes before
  // it; else nullptr.
  AnswerSink* Sink() const {
    const ClientHandle* const client = context_.variables.request().client();
    if (client != nullptr && !client->is_unused()) return nullptr;
    return context_.budget.SinkFor(&query_);
  }

  // Sends the whole query. If its result is the answer to the client, the client may get it while
  // it arrives.
  absl::StatusOr<Term> Whole(const Part& part) {
    TS_ASSIGN_OR_RETURN(Value tree, TreeFor(part, prepared_, prepared_.conditions.size()));
    Limits limits = context_.budget.limits();
    limits.sink = Sink();
    TS_ASSIGN_OR_RETURN(Value answer,
                        part.shard->Ask(part.side, part.days, std::move(tree), limits));
    TS_RETURN_IF_ERROR(context_.budget.Charge(ApproximateBytes(answer)));
    return Term(std::move(answer));
  }

  // Returns the columns of an answer by their names; `date` is made if the answer lacks it.
  absl::StatusOr<std::vector<Value>> ColumnsIn(Value answer, const std::vector<std::string>& names,
                                               std::optional<std::string_view> date, int32_t day) {
    TS_ASSIGN_OR_RETURN(TableView view, ViewOf(std::move(answer)));
    std::vector<Value> columns;
    for (const std::string& name : names) {
      if (date == name) {
        TS_RETURN_IF_ERROR(context_.budget.Charge(view.count(), sizeof(int32_t)));
        const std::vector<int32_t> dates(view.count(), day);
        columns.push_back(Value::Vector(Type::kDate, std::span<const int32_t>(dates)));
        continue;
      }
      const int at = view.Find(name);
      if (at < 0) return NameError(name);
      TS_ASSIGN_OR_RETURN(Slice slice, view.ColumnAt(static_cast<size_t>(at), context_.budget));
      TS_ASSIGN_OR_RETURN(columns.emplace_back(), ToValue(Term(std::move(slice)), context_.budget));
    }
    return columns;
  }

  // Lets each part aggregate its rows, and combines the results.
  // nullopt: the results do not determine that of all rows.
  absl::StatusOr<std::optional<Term>> Combine(const std::vector<Part>& parts,
                                              const SplitQuery& split) {
    std::vector<std::string> names;
    for (const NamedNode& group : split.of_part->groups) names.push_back(group.name);
    for (const NamedNode& column : split.of_part->columns) names.push_back(column.name);
    const auto query_for = [&](const Part& part) {
      Query query = std::move(*CopyOf(*split.of_part));
      query.source = NameNode(table_.name());
      if (split.date_group && part.day) {
        query.groups.erase(query.groups.begin() + static_cast<ptrdiff_t>(*split.date_group));
        query.grouped = !query.groups.empty();
      }
      // Otherwise a vector, such as a text, would be the column.
      for (NamedNode& column : query.columns) {
        if (!query.grouped && !query.distinct)
          column.node = CallNode("enlist", std::move(column.node));
      }
      return query;
    };
    PartRows joined;
    std::optional<std::vector<Value>> without_rows;
    bool can = true;
    const auto take = [&](const Part& part, Value answer) -> absl::StatusOr<bool> {
      std::optional<std::string> date;
      if (split.date_group && part.day) date = names[*split.date_group];
      TS_ASSIGN_OR_RETURN(std::vector<Value> columns,
                          ColumnsIn(std::move(answer), names, date, part.day.value_or(0)));
      for (size_t i = 0; i < split.of_part->columns.size() && !query_.distinct; ++i) {
        const Value& results = columns[split.of_part->groups.size() + i];
        TS_ASSIGN_OR_RETURN(can, CanBeCombined(context_, split.of_part->columns[i], results));
        if (!can) return false;
      }
      // Without groups, no rows make a row, which is the result if no part has any.
      const bool has_rows = query_.distinct || std::ranges::any_of(columns.back().span<int64_t>(),
                                                                   [](int64_t n) { return n > 0; });
      if (has_rows) {
        TS_RETURN_IF_ERROR(joined.Add(table_.name(), std::move(columns), context_.budget));
        return true;
      }
      // `by date` alone is no group for a part without a column `date`.
      for (Value& column : columns) {
        if (query_.grouped) column = EmptyVector(column.type());
      }
      if (!without_rows) without_rows = std::move(columns);
      return true;
    };
    TS_RETURN_IF_ERROR(SendToEach(parts, prepared_.conditions.size(), query_for, take));
    if (!can) return std::nullopt;
    std::vector<Value> columns = joined.empty() ? *std::move(without_rows) : joined.Take();
    if (split.ordered && split.date_group) {
      TS_RETURN_IF_ERROR(SortRows(context_, columns, {*split.date_group}));
    }
    TS_ASSIGN_OR_RETURN(Term term, EvaluateQueryOver(context_, *split.of_results,
                                                     ViewOf(std::move(names), std::move(columns)),
                                                     /*conditions=*/{}));
    return std::optional<Term>(std::move(term));
  }

  // Fetches the rows that meet the conditions by item, with the columns that the query names, and
  // evaluates the query over them.
  absl::StatusOr<Term> Locally(const std::vector<Part>& parts, bool with_date, RowOrder order) {
    if (row_number_) {
      // The number is that among all rows of a partition, before any condition.
      const bool one =
          parts.size() == 1 && (parts[0].side == Side::kLast || parts[0].days.size() == 1);
      if (!one) return NyiError("i over several partitions");
      by_item_conditions_ = 0;
    }
    const bool all = query_.columns.empty() || !sendable_;
    // In a partition rows are ordered by symbol, in an rdb by arrival.
    const bool merges = order == RowOrder::kPreferably || order == RowOrder::kOfRows;
    const bool fetches_conditions = by_item_conditions_ < prepared_.conditions.size();
    std::vector<std::string> names;
    if (with_date) names.emplace_back(kDateColumn);
    // Without days, the rows are those that an rdb has: with their keys, and with their own column
    // `date` if they have one.
    const bool as_in_rdb = !with_date && std::ranges::all_of(parts, [](const Part& part) {
      return part.side == Side::kLast;
    });
    // A partition has its own order of columns.
    const Side side = with_date && table_.IsOn(Side::kPast) ? Side::kPast : parts.front().side;
    for (const std::string& column : as_in_rdb ? table_.LastColumns() : table_.Columns(side)) {
      if (all || wanted_.contains(column) ||
          (fetches_conditions && of_conditions_.contains(column)) ||
          (merges && (column == kTimeColumn || column == kSymColumn))) {
        names.push_back(column);
      }
    }
    // The number of rows is needed even if no column is.
    if (names.empty() && !columns_.empty()) names.push_back(columns_.front());
    PartRows joined;
    std::vector<std::vector<Value>> of_parts;
    const auto query_for = [&](const Part& part) {
      Query fetch;
      fetch.source = NameNode(table_.name());
      for (const std::string& name : names) {
        if (!part.day || name != kDateColumn) fetch.columns.push_back({name, true, NameNode(name)});
      }
      const bool only_date = fetch.columns.empty();
      if (only_date) fetch.columns.push_back({columns_.front(), true, NameNode(columns_.front())});
      return fetch;
    };
    const auto take = [&](const Part& part, Value answer) -> absl::StatusOr<bool> {
      TS_ASSIGN_OR_RETURN(
          std::vector<Value> columns,
          ColumnsIn(std::move(answer), names, part.day ? std::optional(kDateColumn) : std::nullopt,
                    part.day.value_or(0)));
      if (merges) {
        of_parts.push_back(std::move(columns));
      } else {
        TS_RETURN_IF_ERROR(joined.Add(table_.name(), std::move(columns), context_.budget));
      }
      return true;
    };
    TS_RETURN_IF_ERROR(SendToEach(parts, by_item_conditions_, query_for, take));
    std::vector<Value> rows;
    if (merges) {
      TS_ASSIGN_OR_RETURN(rows, Merge(parts, std::move(of_parts), names, with_date, order));
    } else {
      rows = joined.Take();
      if (order == RowOrder::kOfDays && with_date)
        TS_RETURN_IF_ERROR(SortRows(context_, rows, {0}));
    }
    TableView view = ViewOf(std::move(names), std::move(rows));
    if (as_in_rdb && all) view.key_columns = table_.KeyColumns();
    return EvaluateQueryOver(context_, prepared_, std::move(view),
                             std::span(prepared_.conditions).subspan(by_item_conditions_));
  }

  // Joins the rows of shards in the order in which one process would have them: those of a
  // partition by symbol, or by time if the table has no column `sym`; those of an rdb by time.
  // `names`: the columns, with `date` as the first one if `dated`.
  absl::StatusOr<std::vector<Value>> Merge(const std::vector<Part>& parts,
                                           std::vector<std::vector<Value>> of_parts,
                                           const std::vector<std::string>& names, bool dated,
                                           RowOrder order) {
    const auto position = [&names](std::string_view name) -> std::optional<size_t> {
      const auto found = std::ranges::find(names, name);
      if (found == names.end()) return std::nullopt;
      return static_cast<size_t>(found - names.begin());
    };
    const auto is_of_partition = [&parts](const Part& part) {
      // One shard may have written a day that another shard is still writing.
      return std::ranges::any_of(parts, [&part](const Part& other) {
        return other.side == Side::kPast &&
               (&other == &part || (part.day && std::ranges::count(other.days, *part.day) > 0));
      });
    };
    PartRows all;
    for (const bool of_partitions : {true, false}) {
      const std::optional<size_t> sym = position(kSymColumn), time = position(kTimeColumn);
      const bool by_sym = of_partitions && sym && table_.ShardColumn() == kSymColumn;
      std::optional<size_t> key = by_sym ? sym : time;
      // Rows of a keyed table are in the order in which their keys came first.
      if (!of_partitions && table_.KeyColumns() > 0 && !IsKey(kTimeColumn)) key.reset();
      std::vector<size_t> keys;
      if (dated) keys.push_back(0);
      if (key) keys.push_back(*key);
      PartRows joined;
      std::vector<int64_t> part_of_row;
      bool all_sorted = key.has_value();
      std::set<const RemoteTable*> with_rows;
      for (size_t i = 0; i < parts.size(); ++i) {
        if (is_of_partition(parts[i]) != of_partitions) continue;
        if (of_parts[i].front().count() > 0) with_rows.insert(parts[i].shard);
        TS_RETURN_IF_ERROR(context_.budget.Charge(of_parts[i].front().count(), sizeof(int64_t)));
        part_of_row.insert(part_of_row.end(), of_parts[i].front().count(), static_cast<int64_t>(i));
        const bool by_time = time && IsTimeOfRows((of_parts[i][*time]).type());
        if (of_partitions && parts[i].side == Side::kLast && (by_sym || by_time)) {
          // The order in which the day will be written (disk/row_order.h).
          std::vector<size_t> written = keys;
          if (by_sym && by_time) written.push_back(*time);
          TS_RETURN_IF_ERROR(SortRows(context_, of_parts[i], written));
        } else if (all_sorted) {
          TS_ASSIGN_OR_RETURN(const std::optional<Value> other,
                              OrderOfRows(context_, of_parts[i], keys));
          all_sorted = !other.has_value();
        }
        TS_RETURN_IF_ERROR(joined.Add(table_.name(), std::move(of_parts[i]), context_.budget));
      }
      if (joined.empty()) continue;
      std::vector<Value> columns = joined.Take();
      const std::string_view by = by_sym ? kSymColumn : kTimeColumn;
      if (with_rows.size() > 1 && all_sorted) {
        columns.push_back(Value::Vector(Type::kLong, std::span<const int64_t>(part_of_row)));
        TS_RETURN_IF_ERROR(SortRows(context_, columns, keys));
        TS_ASSIGN_OR_RETURN(const bool has_ties, HasTies(context_, columns, keys));
        columns.pop_back();
        if (has_ties && order == RowOrder::kOfRows) {
          return UnknownOrder("which have equal values of", by);
        }
      } else if (with_rows.size() > 1 && order == RowOrder::kOfRows) {
        return UnknownOrder("which are not in order of", by);
      }
      TS_RETURN_IF_ERROR(all.Add(table_.name(), std::move(columns), context_.budget));
    }
    std::vector<Value> columns = all.Take();
    if (dated) TS_RETURN_IF_ERROR(SortRows(context_, columns, {0}));
    return columns;
  }

  // The error of a result that depends on an order that is not known.
  absl::Status UnknownOrder(std::string_view why, std::string_view column) const {
    const std::string_view symbol = table_.ShardColumn();
    return NyiError(fmt::format(
        "the order of rows of several shards, {} {}{}", why, column,
        symbol.empty() ? "" : fmt::format(": add by {0}, or sort them by `{0}", symbol)));
  }

  // `update` and `delete` change a copy of the rows of the last days.
  absl::StatusOr<Term> Change(bool by_days) {
    if (by_days) return NyiError("update or delete over days of several processes");
    TS_ASSIGN_OR_RETURN(Term rows, RowsToChange());
    TS_ASSIGN_OR_RETURN(TableView view, ToView(context_, std::move(rows)));
    return EvaluateQueryOver(context_, query_, std::move(view), query_.conditions);
  }

  absl::StatusOr<Term> RowsToChange() {
    if (shards_.size() == 1 && table_.IsOn(Side::kLast)) return AllRowsOf(context_, table_);
    Query all;
    all.source = NameNode(table_.name());
    RemoteQuery rows(context_, all, table_, IsInAnyOrder() ? RowUse{true} : RowUse{});
    // The items of a constant vector are those of the rows, one each.
    const auto needs_order = [this](const NamedNode& named) {
      return !NeedsNoOrder(*named.node, names_);
    };
    rows.needs_order_ = std::ranges::any_of(query_.conditions,
                                            [&](const NodePtr& condition) {
                                              return !NeedsNoOrder(*condition, names_);
                                            }) ||
                        (query_.verb == Query::Verb::kUpdate && !AreOfOneShard(query_.groups) &&
                         (std::ranges::any_of(query_.columns, needs_order) ||
                          std::ranges::any_of(query_.groups, needs_order)));
    return rows.Run();
  }

  Context& context_;
  const Query& query_;
  const RemoteTable& table_;
  const RowUse use_;
  const std::vector<const RemoteTable*> shards_;
  const std::vector<std::string> columns_;  // Without `date`.
  const std::vector<std::string> names_;    // With `date`.
  // The query with expressions that can be sent, and without the conditions about days.
  Query prepared_;
  size_t by_item_conditions_ = 0;        // How many of them, from the first one on, go by item.
  std::set<std::string> wanted_;         // Columns that groups, order and columns name.
  std::set<std::string> of_conditions_;  // Columns that conditions name, other than days.
  bool names_date_ = false, row_number_ = false, sendable_ = true;
  bool needs_order_ = false;  // What is done with the result depends on the order of its rows.
};

}  // namespace

std::shared_ptr<const RemoteTable> RemoteSource(Context& context, const Node& source) {
  if (source.kind != Node::Kind::kName) return nullptr;
  if (context.scope != nullptr && context.scope->view->Find(source.name) >= 0) return nullptr;
  if (context.variables.Has(source.name)) return nullptr;
  return context.environment.FindRemote(context.variables.Whole(source.name));
}

absl::StatusOr<Term> EvaluateRemoteQuery(Context& context, const Query& query,
                                         const RemoteTable& table, RowUse use) {
  // A day that went from one side to the other meanwhile is found there by the next attempt.
  constexpr int kTries = 3;
  absl::StatusOr<Term> term = RemoteQuery(context, query, table, use).Run();
  for (int i = 1; i < kTries && absl::IsAborted(term.status()); ++i) {
    const std::shared_ptr<const RemoteTable> newer = context.environment.FindRemote(table.name());
    if (newer == nullptr) break;
    term = RemoteQuery(context, query, *newer, use).Run();
  }
  return term;
}

// True if all processes that have the table have this column.
static bool AllHaveColumn(const RemoteTable& table, const std::string& column) {
  return std::ranges::all_of(table.Shards(), [&column](const RemoteTable* shard) {
    return std::ranges::all_of(std::array{Side::kPast, Side::kLast}, [&](Side side) {
      const std::vector<std::string> columns = shard->Columns(side);
      return !shard->IsOn(side) || std::ranges::find(columns, column) != columns.end();
    });
  });
}

absl::StatusOr<std::optional<Term>> CountOfRows(Context& context, const Node& rows) {
  const Query& query = *rows.query;
  const bool reads = query.verb == Query::Verb::kSelect || IsExecOfOneColumn(rows);
  const bool plain = !query.grouped && !query.distinct && query.limit == nullptr;
  if (!reads || !plain || query.order != nullptr) return std::nullopt;
  const std::shared_ptr<const RemoteTable> remote = RemoteSource(context, *query.source);
  if (remote == nullptr) return std::nullopt;
  // Any expression but a column may fail, or make another number of items.
  const bool of_columns = std::ranges::all_of(query.columns, [&remote](const NamedNode& column) {
    return column.node->kind == Node::Kind::kName && AllHaveColumn(*remote, column.node->name);
  });
  if (!of_columns) return std::nullopt;
  Query count;
  count.verb = Query::Verb::kExec;
  count.source = CopyOf(*query.source);
  count.columns.push_back({"x", false, CallNode("count", NameNode("i"))});
  for (const NodePtr& condition : query.conditions) count.conditions.push_back(CopyOf(*condition));
  TS_ASSIGN_OR_RETURN(Term term, EvaluateRemoteQuery(context, count, *remote));
  return term;
}

absl::StatusOr<std::optional<Term>> ColumnOf(Context& context, const RemoteTable& table,
                                             std::string_view column) {
  const std::vector<std::string> columns = ColumnsOf(table);
  if (std::ranges::find(columns, column) == columns.end()) return std::nullopt;
  Query query;
  query.verb = Query::Verb::kExec;
  query.source = NameNode(table.name());
  query.columns.push_back({std::string(column), false, NameNode(column)});
  TS_ASSIGN_OR_RETURN(Term term, EvaluateRemoteQuery(context, query, table));
  return term;
}

absl::StatusOr<std::optional<Term>> EvaluateWithoutRows(Context& context, const RemoteTable& table,
                                                        const Builtin& function) {
  Query query;
  query.source = NameNode(table.name());
  if (function.name == "count") {
    query.verb = Query::Verb::kExec;
    query.columns.push_back({"x", false, CallNode("count", NameNode("i"))});
    TS_ASSIGN_OR_RETURN(Term count, EvaluateRemoteQuery(context, query, table));
    return count;
  }
  absl::Status silent;  // The error of a shard that has the table and does not answer.
  for (const RemoteTable* const shard : table.Shards()) {
    if (!shard->status().ok() || !shard->IsOn(Side::kLast)) continue;
    std::vector<Value> items;
    items.push_back(Value::Symbol(function.name));
    items.push_back(Value::Symbol(table.name()));
    Limits limits = context.budget.limits();
    limits.sink = nullptr;
    absl::StatusOr<Value> answer =
        shard->Ask(Side::kLast, {}, Value::List(std::move(items)), limits);
    if (answer.ok()) return Term(*std::move(answer));
    if (!absl::IsUnavailable(answer.status())) return answer.status();
    silent.Update(answer.status());
  }
  if (!silent.ok()) return silent;
  return std::nullopt;
}

absl::StatusOr<Term> AllRowsOf(Context& context, const RemoteTable& table, RowUse use) {
  if (!table.IsOn(Side::kLast) || table.Shards().size() > 1) {
    Query all;
    all.source = NameNode(table.name());
    return EvaluateRemoteQuery(context, all, table, use);
  }
  Limits limits = context.budget.limits();
  limits.sink = nullptr;
  TS_ASSIGN_OR_RETURN(Value rows, table.Ask(Side::kLast, {}, Value::Symbol(table.name()), limits));
  TS_RETURN_IF_ERROR(context.budget.Charge(ApproximateBytes(rows)));
  return Term(std::move(rows));
}

}  // namespace tickstack::query
