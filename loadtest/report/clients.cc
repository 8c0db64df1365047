#include "loadtest/report/clients.h"

#include <fmt/format.h>

#include <algorithm>

#include "loadtest/report/tables.h"
#include "loadtest/report/text.h"

namespace tickstack::loadtest::report {
namespace {

const RecordedClient* FindClient(const RecordedStack& stack, std::string_view client) {
  const auto found = std::ranges::find(stack.clients, client, &RecordedClient::name);
  return found == stack.clients.end() ? nullptr : &*found;
}

std::string ErrorCell(const RecordedQuery& query) {
  if (query.errors == 0) return "0";
  const std::string text =
      fmt::format("{}: {}", query.errors, SafeHtml(query.first_error.substr(0, 200)));
  return query.errors_allowed ? text : fmt::format("<span class=\"failed\">{}</span>", text);
}

std::vector<std::string> CellsOfQuery(const RecordedQuery& query) {
  const Distribution& whole = query.times.whole;
  std::string count = CountText(static_cast<double>(whole.count));
  if (query.unanswered > 0) count += fmt::format(" ({} unanswered)", query.unanswered);
  return {count,
          CountText(query.per_minute),
          ErrorCell(query),
          DurationText(whole.p50_ms),
          DurationText(whole.p99_ms),
          DurationText(whole.p999_ms),
          DurationText(whole.max_ms),
          DurationText(query.times.last_minute.p99_ms)};
}

}  // namespace

const RecordedQuery* FindQuery(const RecordedStack& stack, std::string_view client,
                               std::string_view query) {
  const RecordedClient* const of = FindClient(stack, client);
  if (of == nullptr) return nullptr;
  const auto found = std::ranges::find(of->queries, query, &RecordedQuery::name);
  return found == of->queries.end() ? nullptr : &*found;
}

std::vector<ClientNames> ClientsOf(const RecordedTest& test) {
  std::vector<ClientNames> names;
  for (const RecordedStack& stack : test.stacks) {
    for (const RecordedClient& client : stack.clients) {
      auto known = std::ranges::find_if(
          names, [&client](const ClientNames& one) { return one.client->name == client.name; });
      if (known == names.end()) {
        names.push_back({.client = &client, .queries = {}});
        known = names.end() - 1;
      }
      for (const RecordedQuery& query : client.queries) {
        if (std::ranges::find(known->queries, query.name) == known->queries.end()) {
          known->queries.push_back(query.name);
        }
      }
    }
  }
  return names;
}

std::string ClientText(const RecordedClient& client) {
  std::string text = client.connections
                         ? Plural(static_cast<int64_t>(*client.connections), "connection")
                         : std::string();
  if (client.mode == "open" && client.every_ms) {
    text += fmt::format(", one question due every {}{}", SettingText(*client.every_ms),
                        client.arrivals == "poisson" ? " on the mean, at random times" : "");
  } else if (client.mode == "closed" && client.think_ms) {
    text += *client.think_ms > 0 ? fmt::format(", the next question {} after each answer",
                                               SettingText(*client.think_ms))
                                 : ", the next question with each answer";
  }
  return text;
}

std::string ClientTable(const RecordedTest& test, size_t number) {
  const std::vector<ClientNames> clients = ClientsOf(test);
  if (clients.empty()) return "";
  HtmlTable table(fmt::format("clients-{}", number), "What clients asked");
  table.Head({"", "questions", "answers a minute", "errors", "median", "99 %", "99.9 %", "longest",
              "99 %, last minute"});
  for (const ClientNames& client : clients) {
    table.Group(fmt::format("{}: {}", client.client->name, ClientText(*client.client)));
    for (const std::string& name : client.queries) {
      for (const RecordedStack& stack : test.stacks) {
        const RecordedQuery* const query = FindQuery(stack, client.client->name, name);
        if (query == nullptr) continue;
        table.RowOfHtml(
            SafeHtml(name) + "<br><span class=\"quiet\">" + StackLabel(stack) + "</span>",
            CellsOfQuery(*query));
      }
    }
  }
  return table.Finish();
}

std::string ChartName(std::string_view client, std::string_view query) {
  return fmt::format("client:{}:{}:", client, query);
}

}  // namespace tickstack::loadtest::report
