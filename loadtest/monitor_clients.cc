#include "loadtest/monitor_clients.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/status.h"
#include "base/time.h"
#include "loadtest/monitor_files.h"

namespace tickstack::loadtest {
namespace {

// Returns a field of a monitor's JSON, which this project wrote: 0, false or "" if absent.
template <typename T>
T FieldOr(const nlohmann::ordered_json& json, const char* key, T otherwise) {
  const auto found = json.find(key);
  if (found == json.end()) return otherwise;
  if constexpr (std::is_same_v<T, std::string>) {
    return found->is_string() ? found->template get<T>() : otherwise;
  } else if constexpr (std::is_same_v<T, bool>) {
    return found->is_boolean() ? found->template get<T>() : otherwise;
  } else {
    return found->is_number() ? found->template get<T>() : otherwise;
  }
}

ClientResult& ClientIn(StackResult& stack, const std::string& name) {
  const auto found = std::ranges::find(stack.clients, name, &ClientResult::name);
  if (found != stack.clients.end()) return *found;
  ClientResult& made = stack.clients.emplace_back();
  made.name = name;
  return made;
}

QueryResult& QueryIn(ClientResult& client, const std::string& name) {
  for (auto& [known, query] : client.queries) {
    if (known == name) return query;
  }
  return client.queries.emplace_back(name, QueryResult()).second;
}

void TakeSpec(const nlohmann::ordered_json& json, ClientResult& client) {
  client.open_loop = FieldOr<std::string>(json, "mode", "") == "open";
  client.connections = FieldOr<int64_t>(json, "connections", 0);
  client.every_ms = FieldOr<double>(json, "every_ms", 0);
  client.arrivals = FieldOr<std::string>(json, "arrivals", "");
  client.think_ms = FieldOr<double>(json, "think_ms", 0);
  client.has_begun = client.has_begun && FieldOr<double>(json, "seconds", 0) > 0;
  client.connections_lost += FieldOr<uint64_t>(json, "connections_lost", 0);
}

bool AddQuery(const nlohmann::ordered_json& json, QueryResult& query) {
  query.errors += FieldOr<uint64_t>(json, "errors", 0);
  query.errors_allowed = FieldOr<bool>(json, "errors_allowed", false);
  if (query.first_error.empty()) query.first_error = FieldOr<std::string>(json, "first_error", "");
  query.unanswered += FieldOr<uint64_t>(json, "unanswered", 0);
  query.per_minute += FieldOr<double>(json, "per_minute", 0);
  return json.contains("whole") && AddCounters(json["whole"], query.times.whole) &&
         json.contains("last_minute") && AddCounters(json["last_minute"], query.times.last_minute);
}

absl::Status AddSummary(const std::string& path, StackResult& stack) {
  std::ifstream file(path);
  if (!file) return NotFound("{}: no such file: the monitor has not measured", path);
  // In the order of the file that defines the clients.
  const auto json = nlohmann::ordered_json::parse(file, nullptr, false);
  for (const char* key : {"clients", "queries"}) {
    if (json.is_object() && json.contains(key) && json[key].is_object()) continue;
    return DataLoss("{}: {}: expected an object", path, key);
  }
  for (const auto& [name, spec] : json["clients"].items()) TakeSpec(spec, ClientIn(stack, name));
  for (const auto& [client, queries] : json["queries"].items()) {
    if (!queries.is_object()) {
      return DataLoss("{}: queries.{}: expected an object", path, client);
    }
    for (const auto& [query, found] : queries.items()) {
      if (!found.is_object() || !AddQuery(found, QueryIn(ClientIn(stack, client), query))) {
        return DataLoss("{}: queries.{}.{}: expected counters", path, client, query);
      }
    }
  }
  return absl::OkStatus();
}

absl::Status AddSlices(const std::string& path, const std::string& rdb, int64_t begin_ns,
                       StackResult& stack) {
  constexpr size_t kTime = 2, kCount = 3, kErrors = 4, kFirstMs = 5;
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return NotFound("{}: no answers of clients", path);
  const size_t columns = CsvCells(line).size();
  while (std::getline(file, line)) {
    const std::vector<std::string_view> cells = CsvCells(line);
    QuerySliceRow row;
    const std::optional<int64_t> time_ns =
        cells.size() == columns && columns == kFirstMs + row.ms.size()
            ? ParseTimestamp(cells[kTime])
            : std::nullopt;
    if (!time_ns) return DataLoss("{}: {}: expected a row of {} cells", path, line, columns);
    row.rdb = rdb;
    row.client = cells[0];
    row.query = cells[1];
    // Clients are told to start a moment before the feeds.
    row.time_s = static_cast<double>(std::max<int64_t>(0, *time_ns - begin_ns)) /
                 static_cast<double>(kNsPerSecond);
    row.count = static_cast<uint64_t>(CellNumber(cells[kCount]).value_or(0));
    row.errors = static_cast<uint64_t>(CellNumber(cells[kErrors]).value_or(0));
    for (size_t i = 0; i < row.ms.size(); ++i) {
      row.ms[i] = CellNumber(cells[kFirstMs + i]).value_or(0);
    }
    stack.query_slices.push_back(std::move(row));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status AddMonitorClients(const std::string& stem, const std::string& rdb, int64_t begin_ns,
                               StackResult& stack) {
  TS_RETURN_IF_ERROR(AddSummary(stem + ".summary.json", stack));
  return AddSlices(stem + ".queries.csv", rdb, begin_ns, stack);
}

}  // namespace tickstack::loadtest
