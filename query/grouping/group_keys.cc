#include "query/grouping/group_keys.h"

#include <utility>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/grouping/stored_groups.h"
#include "query/grouping/time_buckets.h"
#include "query/language/evaluator.h"
#include "query/language/partitions.h"

namespace tickstack::query {
namespace {

class GroupMaker {
 public:
  GroupMaker(Context& context, std::span<const NamedNode> phrase, const TableView& view,
             RemainingRows left)
      : context_(context), phrase_(phrase), view_(view), left_(left) {}

  absl::StatusOr<std::unique_ptr<Groups>> Make(std::vector<std::string>& names);

 private:
  absl::StatusOr<Term> EvaluateAt(const Node& node, const std::shared_ptr<const RowSet>& rows) {
    const Scope scope{&view_, rows};
    Context inner = context_.Inside(scope);
    return EvaluateNode(inner, node);
  }
  absl::StatusOr<std::unique_ptr<Groups>> MakeSymbolGroups(std::vector<std::string>& names);
  absl::StatusOr<std::unique_ptr<Groups>> MakeStoredGroups(std::vector<std::string>& names);
  absl::StatusOr<std::optional<KeyColumn>> PartitionKey(const Node& node);
  absl::StatusOr<std::optional<KeyColumn>> MappedKey(const Node& node);
  absl::StatusOr<KeyColumn> EvaluateKey(const Node& node);

  static constexpr size_t kValues = 256;  // The values that a byte can have.
  static constexpr size_t kRowsForMap = 32;

  Context& context_;
  const std::span<const NamedNode> phrase_;
  const TableView& view_;
  const RemainingRows left_;
};

// Makes groups of symbols whose rows a condition took out of the index; they do not need
// `left_.rows`.
absl::StatusOr<std::unique_ptr<Groups>> GroupMaker::MakeSymbolGroups(
    std::vector<std::string>& names) {
  if (!left_.symbols.has_value() || phrase_.size() != 1) return nullptr;
  const std::optional<size_t> column = ColumnNamed(*phrase_[0].node, view_);
  const AnyColumn* const key = column.has_value() ? view_.columns[*column].gathered() : nullptr;
  if (key == nullptr || !key->has_ids() || key->index() != left_.symbols->key().index())
    return nullptr;
  names.push_back(phrase_[0].name);
  return GroupsOfSymbols(*left_.symbols, *left_.rows, context_.budget);
}

// Groups by the partition column and the parted one of a stored table, whose parts and indexes are
// the groups already. nullptr: the keys are others.
absl::StatusOr<std::unique_ptr<Groups>> GroupMaker::MakeStoredGroups(
    std::vector<std::string>& names) {
  TS_ASSIGN_OR_RETURN(const std::optional<StoredKeys> keys,
                      StoredKeysOf(phrase_, view_, context_.budget));
  if (!keys.has_value()) return nullptr;
  if (keys->symbol.has_value() && !left_.symbols.has_value()) {
    if (!left_.rows->IsAllOf(view_.stored->rows())) return nullptr;
    TS_ASSIGN_OR_RETURN(left_.symbols,
                        SymbolRows::All(*keys->symbol, *left_.rows, context_.budget));
  }
  const bool of_another_column = keys->symbol.has_value() && left_.symbols.has_value() &&
                                 left_.symbols->key().index() != keys->symbol->index();
  if (of_another_column) return nullptr;
  TS_ASSIGN_OR_RETURN(
      std::unique_ptr<Groups> groups,
      GroupsOfParts(*view_.stored, keys->kinds, *left_.rows, left_.symbols, context_.budget));
  if (groups == nullptr) return nullptr;
  UniqueNames unique;
  for (const NamedNode& group : phrase_) names.push_back(unique.Next(group.name));
  return groups;
}

// Returns the partition column as a key, which is the same for all rows of a part; nullopt if the
// node names another column.
absl::StatusOr<std::optional<KeyColumn>> GroupMaker::PartitionKey(const Node& node) {
  if (view_.stored == nullptr || !view_.stored->table().is_partitioned() ||
      left_.rows->count() == 0 || ColumnNamed(node, view_) != std::optional<size_t>(0)) {
    return std::nullopt;
  }
  PartRuns runs = RunsOfParts(*view_.stored, *left_.rows);
  TS_RETURN_IF_ERROR(context_.budget.Charge(runs.ends.size(), 2 * sizeof(uint32_t)));
  TS_ASSIGN_OR_RETURN(AnyColumn values, view_.columns[0].Get(context_.budget));
  return KeyColumn{Slice{std::move(values), std::make_shared<const RowSet>(
                                                RowSet::FromRows(std::move(runs.first_rows)))},
                   std::move(runs.ends)};
}

// Returns the key for a dictionary applied to a column of chars, bytes or flags, as in `by names
// ex`. The dictionary is applied to the possible values instead of the rows. nullopt: the node is
// another expression.
absl::StatusOr<std::optional<KeyColumn>> GroupMaker::MappedKey(const Node& node) {
  if (node.kind != Node::Kind::kApply || node.children.size() != 2) return std::nullopt;
  const NodePtr& function = node.children[0];
  if (node.children[1] == nullptr || function->kind != Node::Kind::kName) return std::nullopt;
  const std::optional<size_t> column = ColumnNamed(*node.children[1], view_);
  if (!column.has_value() || WidthOf(view_.columns[*column].type()) != 1) return std::nullopt;
  if (view_.Find(function->name) >= 0 || left_.rows->count() < kRowsForMap) return std::nullopt;
  TS_ASSIGN_OR_RETURN(Term dictionary, EvaluateAt(*function, left_.rows));
  const auto* const value = std::get_if<Value>(&dictionary);
  const Type type = view_.columns[*column].type();
  if (value == nullptr || !value->is_dict() || !value->keys().is(type) ||
      !value->values().is_vector()) {
    return std::nullopt;
  }
  ByteBuffer bytes;
  for (size_t byte = 0; byte < kValues; ++byte) bytes.AppendLittle(static_cast<uint8_t>(byte));
  Term all(Value::Vector(type, std::move(bytes)));
  TS_ASSIGN_OR_RETURN(Term keys, ApplyTerm(context_, std::move(dictionary), std::span(&all, 1)));
  TS_ASSIGN_OR_RETURN(Value mapped, ToValue(std::move(keys), context_.budget));
  if (!mapped.is_vector() || mapped.count() != kValues) return std::nullopt;
  TS_ASSIGN_OR_RETURN(AnyColumn items, view_.columns[*column].Get(context_.budget));
  return KeyColumn{Slice{std::move(items), left_.rows}, {}, std::move(mapped)};
}

// Returns one item per run where the expression is known to be constant within runs of rows, else
// one per row.
absl::StatusOr<KeyColumn> GroupMaker::EvaluateKey(const Node& node) {
  TS_ASSIGN_OR_RETURN(std::optional<KeyColumn> by_part, PartitionKey(node));
  if (by_part.has_value()) return *std::move(by_part);
  TS_ASSIGN_OR_RETURN(std::optional<KeyColumn> of_values, MappedKey(node));
  if (of_values.has_value()) return *std::move(of_values);
  KeyColumn key{Slice::Of(EmptyVector(Type::kLong))};
  std::shared_ptr<const RowSet> rows = left_.rows;
  if (const std::optional<TimeBucket> bucket = TimeBucketOf(node, view_)) {
    TS_ASSIGN_OR_RETURN(AnyColumn times, view_.columns[bucket->column].Get(context_.budget));
    TS_ASSIGN_OR_RETURN(
        std::optional<TimeRuns> runs,
        FindTimeRuns(Slice{std::move(times), left_.rows}, bucket->bucket_ns, context_.budget));
    if (runs.has_value() && !runs->ends.empty()) {
      key.run_ends = std::move(runs->ends);
      rows = std::make_shared<const RowSet>(RowSet::FromRows(std::move(runs->first_rows)));
    }
  }
  TS_ASSIGN_OR_RETURN(Term term, EvaluateAt(node, rows));
  if (auto* slice = std::get_if<Slice>(&term)) {
    key.items = std::move(*slice);
    return key;
  }
  TS_ASSIGN_OR_RETURN(Value value, ToValue(std::move(term), context_.budget));
  if (!value.is_vector() && !value.is_list()) return NyiError("by an expression that is no vector");
  key.items = Slice::Of(std::move(value));
  return key;
}

absl::StatusOr<std::unique_ptr<Groups>> GroupMaker::Make(std::vector<std::string>& names) {
  TS_ASSIGN_OR_RETURN(std::unique_ptr<Groups> of_parts, MakeStoredGroups(names));
  if (of_parts != nullptr) return of_parts;
  TS_ASSIGN_OR_RETURN(std::unique_ptr<Groups> of_symbols, MakeSymbolGroups(names));
  if (of_symbols != nullptr) return of_symbols;
  TS_RETURN_IF_ERROR(left_.Merge(context_.budget));
  std::vector<KeyColumn> keys;
  UniqueNames unique;
  for (const NamedNode& group : phrase_) {
    names.push_back(unique.Next(group.name));
    TS_ASSIGN_OR_RETURN(KeyColumn key, EvaluateKey(*group.node));
    keys.push_back(std::move(key));
  }
  if (keys.size() == 1 && keys[0].run_ends.empty()) {
    TS_ASSIGN_OR_RETURN(std::unique_ptr<Groups> indexed,
                        GroupsFromIndex(keys[0].items, context_.budget));
    if (indexed != nullptr) return indexed;
  }
  return GroupByValues(keys, left_.rows, context_.budget);
}

}  // namespace

absl::Status RemainingRows::Merge(Budget& budget) const {
  if (!symbols.has_value()) return absl::OkStatus();
  TS_ASSIGN_OR_RETURN(RowSet merged, symbols->Merge(budget));
  rows = std::make_shared<const RowSet>(std::move(merged));
  symbols.reset();
  return absl::OkStatus();
}

std::optional<size_t> ColumnNamed(const Node& node, const TableView& view) {
  if (node.kind != Node::Kind::kName) return std::nullopt;
  const int column = view.Find(node.name);
  return column < 0 ? std::nullopt : std::optional(static_cast<size_t>(column));
}

absl::StatusOr<std::unique_ptr<Groups>> MakeGroups(Context& context,
                                                   std::span<const NamedNode> phrase,
                                                   const TableView& view, RemainingRows left,
                                                   std::vector<std::string>& names) {
  return GroupMaker(context, phrase, view, left).Make(names);
}

}  // namespace tickstack::query
