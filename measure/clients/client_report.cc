#include "measure/clients/client_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/human_text.h"
#include "base/time.h"

namespace tickstack::measure {
namespace {

constexpr double kNsPerMs = 1e6;

double Ms(int64_t ns) { return static_cast<double>(ns) / kNsPerMs; }

double PerMinute(const ClientResult& client, const QueryResult& query) {
  if (client.seconds <= 0) return 0;
  return 60 * static_cast<double>(query.whole.Count() - query.unanswered) / client.seconds;
}

nlohmann::ordered_json ClientJson(const ClientResult& client) {
  const ClientSpec& spec = client.spec;
  nlohmann::ordered_json json = {{"connections", spec.count}};
  if (spec.mode == ClientSpec::Mode::kOpen) {
    json["mode"] = "open";
    json["every_ms"] = spec.every_ms;
    json["arrivals"] = spec.poisson ? "poisson" : "even";
  } else {
    json["mode"] = "closed";
    json["think_ms"] = spec.think_ms;
  }
  json["asked"] = client.asked;
  json["seconds"] = client.seconds;
  json["connections_lost"] = client.lost;
  return json;
}

nlohmann::ordered_json QueryJson(const ClientResult& client, const QueryResult& query) {
  return {{"errors", query.errors},
          {"errors_allowed", query.errors_allowed},
          {"first_error", query.first_error},
          {"unanswered", query.unanswered},
          {"per_minute", PerMinute(client, query)},
          {"whole", DistributionJson(query.whole)},
          {"last_minute", DistributionJson(query.last_minute)}};
}

}  // namespace

nlohmann::ordered_json DistributionJson(const Histogram& histogram) {
  const Distribution d = DistributionOf(histogram);
  return {
      {"count", d.count},    {"min_ms", Ms(d.min)},          {"p50_ms", Ms(d.p50)},
      {"p90_ms", Ms(d.p90)}, {"p99_ms", Ms(d.p99)},          {"p999_ms", Ms(d.p999)},
      {"max_ms", Ms(d.max)}, {"mean_ms", d.mean / kNsPerMs}, {"counters_ns", histogram.Counters()}};
}

void AddClients(const std::vector<ClientResult>& clients, nlohmann::ordered_json& summary) {
  if (clients.empty()) return;
  nlohmann::ordered_json specs, queries;
  for (const ClientResult& client : clients) {
    specs[client.spec.name] = ClientJson(client);
    nlohmann::ordered_json& of_client = queries[client.spec.name];
    for (const QueryResult& query : client.queries) {
      of_client[query.query] = QueryJson(client, query);
    }
  }
  summary["clients"] = std::move(specs);
  summary["queries"] = std::move(queries);
}

std::string ClientsText(const std::vector<ClientResult>& clients) {
  std::string text;
  for (const ClientResult& client : clients) {
    text += fmt::format("client {}, {} connections, {}: {} asked\n", client.spec.name,
                        client.spec.count,
                        client.spec.mode == ClientSpec::Mode::kOpen
                            ? fmt::format("one due every {:g} ms", client.spec.every_ms)
                            : fmt::format("{:g} ms after each answer", client.spec.think_ms),
                        Thousands(static_cast<int64_t>(client.asked)));
    for (const QueryResult& query : client.queries) {
      const Distribution d = DistributionOf(query.whole);
      text += fmt::format("  {:<22}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}", query.query,
                          Thousands(static_cast<int64_t>(d.count)), NsText(d.p50), NsText(d.p90),
                          NsText(d.p99), NsText(d.p999), NsText(d.max));
      if (query.unanswered > 0) text += fmt::format("  {} unanswered", query.unanswered);
      if (query.errors > 0) {
        text += fmt::format("  {} errors, the first: {}", query.errors, query.first_error);
      }
      text += '\n';
    }
  }
  return text;
}

std::string SlicesCsv(const std::vector<ClientResult>& clients) {
  std::string csv = "client,query,time,count,errors,p50_ms,p99_ms,p999_ms,max_ms\n";
  for (const ClientResult& client : clients) {
    for (const QueryResult& query : client.queries) {
      for (const QuerySlice& slice : query.slices) {
        csv += fmt::format("{},{},{},{},{}", client.spec.name, query.query,
                           FormatTimestamp(slice.begin_ns), slice.times.count, slice.errors);
        for (const int64_t ns :
             {slice.times.p50, slice.times.p99, slice.times.p999, slice.times.max}) {
          csv += fmt::format(",{:.6f}", static_cast<double>(ns) / 1e6);
        }
        csv += '\n';
      }
    }
  }
  return csv;
}

}  // namespace tickstack::measure
