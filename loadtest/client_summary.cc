#include "loadtest/client_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "loadtest/measured_json.h"

namespace tickstack::loadtest {
namespace {

using ClientJson = nlohmann::ordered_json;

ClientJson SpecJson(const ClientResult& client) {
  ClientJson json = {{"mode", client.open_loop ? "open" : "closed"},
                     {"connections", client.connections}};
  if (client.open_loop) {
    json["every_ms"] = client.every_ms;
    json["arrivals"] = client.arrivals;
  } else {
    json["think_ms"] = client.think_ms;
  }
  json["connections_lost"] = client.connections_lost;
  return json;
}

ClientJson QueryJson(const StackResult& stack, const std::string& client, const std::string& name,
                     const QueryResult& query) {
  ClientJson json = MeasuredJson(query.times);
  // How much the median moves from one slice of time to the next shows how certain it is.
  ClientJson slices = ClientJson::array();
  for (const QuerySliceRow& row : stack.query_slices) {
    if (row.client == client && row.query == name) slices.push_back({row.ms[0], row.count});
  }
  json["slices"] = std::move(slices);
  json["errors"] = query.errors;
  json["errors_allowed"] = query.errors_allowed;
  json["first_error"] = query.first_error;
  json["unanswered"] = query.unanswered;
  json["per_minute"] = query.per_minute;
  return json;
}

}  // namespace

const ClientResult* FindClient(const StackResult& stack, std::string_view client) {
  const auto found = std::ranges::find(stack.clients, client, &ClientResult::name);
  return found == stack.clients.end() ? nullptr : &*found;
}

const QueryResult* FindQuery(const StackResult& stack, std::string_view client,
                             std::string_view query) {
  const ClientResult* const of = FindClient(stack, client);
  if (of == nullptr) return nullptr;
  for (const auto& [name, result] : of->queries) {
    if (name == query) return &result;
  }
  return nullptr;
}

std::string WrongAnswers(const StackResult& stack) {
  std::string wrong;
  for (const ClientResult& client : stack.clients) {
    uint64_t answers = 0, unanswered = 0;
    for (const auto& [name, query] : client.queries) {
      answers += query.times.whole.Count() - query.unanswered;
      unanswered += query.unanswered;
      if (query.errors == 0 || query.errors_allowed) continue;
      wrong += fmt::format("\n  client {}, query {}: {} of {} failed, the first: {}", client.name,
                           name, query.errors, query.times.whole.Count(), query.first_error);
    }
    // In a short run, possibly no question became due.
    const bool was_asked = !client.open_loop || unanswered > 0 || !client.has_begun;
    if (answers == 0 && was_asked)
      wrong += fmt::format("\n  client {}: no question was answered", client.name);
  }
  return wrong;
}

void AddClients(const StackResult& stack, nlohmann::ordered_json& json) {
  if (stack.clients.empty()) return;
  ClientJson specs, queries;
  for (const ClientResult& client : stack.clients) {
    specs[client.name] = SpecJson(client);
    ClientJson& of_client = queries[client.name];
    for (const auto& [name, query] : client.queries) {
      of_client[name] = QueryJson(stack, client.name, name, query);
    }
  }
  json["clients"] = std::move(specs);
  json["queries"] = std::move(queries);
}

std::string ClientCells(const StackResult& stack) {
  if (stack.clients.empty()) return std::string(7, ',');
  Histogram all;
  double per_minute = 0;
  uint64_t errors = 0, unanswered = 0;
  for (const ClientResult& client : stack.clients) {
    for (const auto& [name, query] : client.queries) {
      all.Merge(query.times.whole);
      per_minute += query.per_minute;
      errors += query.errors;
      unanswered += query.unanswered;
    }
  }
  std::string cells = fmt::format(",{:.1f},{},{}", per_minute, errors, unanswered);
  for (const double percentile : {50.0, 99.0, 99.9, 100.0}) {
    cells +=
        all.Count() == 0
            ? ","
            : fmt::format(",{:.6f}", static_cast<double>(all.ValueAtPercentile(percentile)) / 1e6);
  }
  return cells;
}

std::string QueriesCsv(const RunResult& run) {
  std::string csv =
      "test,stack,rdb,client,query,time_s,count,errors,p50_ms,p99_ms,p999_ms,max_ms\n";
  for (const TestResult& test : run.tests) {
    for (const StackResult& stack : test.stacks) {
      for (const QuerySliceRow& row : stack.query_slices) {
        csv += fmt::format("{},{},{},{},{},{:.3f},{},{}", test.spec.name, stack.spec.name, row.rdb,
                           row.client, row.query, row.time_s, row.count, row.errors);
        for (const double ms : row.ms) csv += fmt::format(",{:.6f}", ms);
        csv += '\n';
      }
    }
  }
  return csv;
}

}  // namespace tickstack::loadtest
