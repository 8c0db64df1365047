#include "tplog/subscription_answer.h"

#include "base/status.h"

namespace tickstack::tplog {
namespace {

bool IsNamedTable(const Value& value) {
  return value.is_list() && value.items().size() == 2 && value.items()[0].is_atom_of(Type::kSymbol);
}

absl::Status AddColumns(const Value& table, Schema& schema) {
  const SymbolVector& names = table.column_names();
  for (size_t i = 0; i < names.size(); ++i) {
    const Type type = table.columns()[i].type();
    if (!IsVectorType(type) && type != Type::kList) {
      return InvalidArgument("table {}: column {} is a {}", schema.table, names[i], NameOf(type));
    }
    schema.columns.push_back({std::string(names[i]), type});
  }
  return absl::OkStatus();
}

// `(i; L)` is a list; if both are null, q may collapse it into another type.
bool IsPair(const Value& value) { return value.is_list() && value.items().size() == 2; }

}  // namespace

absl::StatusOr<LogPosition> ParseLogPosition(const Value& i, const Value& log) {
  LogPosition position;
  if (log.is_atom_of(Type::kSymbol)) {
    const std::string_view path = log.symbol();
    position.path = path.substr(path.starts_with(':') ? 1 : 0);
  }
  if (i.is_atom_of(Type::kLong) && i.as<int64_t>() > 0) {
    position.seq = static_cast<uint64_t>(i.as<int64_t>());
  } else if (i.is_atom_of(Type::kInt) && i.as<int32_t>() > 0) {
    position.seq = static_cast<uint64_t>(i.as<int32_t>());
  }
  if (position.seq > 0 && position.path.empty()) {
    return InvalidArgument("log position: {} messages, but no log path", position.seq);
  }
  return position;
}

absl::StatusOr<Schema> SchemaOf(std::string_view table, const Value& value) {
  Schema schema{std::string(table), {}, 0};
  if (value.is_keyed_table()) {
    TS_RETURN_IF_ERROR(AddColumns(value.keys(), schema));
    schema.key_columns = schema.columns.size();
    TS_RETURN_IF_ERROR(AddColumns(value.values(), schema));
  } else if (value.is_table()) {
    TS_RETURN_IF_ERROR(AddColumns(value, schema));
  } else {
    return InvalidArgument("table {}: its schema is a {}", table, NameOf(value.type()));
  }
  return schema;
}

absl::StatusOr<SubscriptionAnswer> ParseSubscriptionAnswer(const Value& answer) {
  if (!answer.is_list() || answer.items().size() < 2) {
    return InvalidArgument("subscription: the answer is a {}, expected (schemas; position)",
                           NameOf(answer.type()));
  }
  const std::vector<Value>& items = answer.items();
  SubscriptionAnswer parsed;
  if (items.size() >= 3) {
    TS_ASSIGN_OR_RETURN(parsed.log, ParseLogPosition(items[1], items[2]));
  } else if (IsPair(items[1])) {
    TS_ASSIGN_OR_RETURN(parsed.log, ParseLogPosition(items[1].items()[0], items[1].items()[1]));
  }
  if (items.size() >= 4) {
    const Value& times = items[3];
    const bool is_known = IsPair(times) && times.items()[0].is_atom_of(Type::kTimespan) &&
                          times.items()[1].is_atom_of(Type::kTimestamp);
    if (is_known) {
      parsed.batches = {times.items()[0].as<int64_t>(), times.items()[1].as<int64_t>()};
    }
  }
  const Value& schemas = items[0];
  if (!schemas.is_list()) {
    return InvalidArgument("subscription: schemas are a {}", NameOf(schemas.type()));
  }
  const auto add = [&parsed](const Value& named) -> absl::Status {
    if (!IsNamedTable(named)) return InvalidArgument("subscription: expected (name; empty table)");
    TS_ASSIGN_OR_RETURN(Schema schema, SchemaOf(named.items()[0].symbol(), named.items()[1]));
    parsed.schemas.push_back(std::move(schema));
    return absl::OkStatus();
  };
  if (IsNamedTable(schemas)) {
    TS_RETURN_IF_ERROR(add(schemas));
    return parsed;
  }
  for (const Value& named : schemas.items()) TS_RETURN_IF_ERROR(add(named));
  return parsed;
}

}  // namespace tickstack::tplog
