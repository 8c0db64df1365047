#pragma once

// What clients asked and how it was answered, on the page: a table of all of it, the lines of the
// side-by-side table, and a chart of distributions for each class of clients.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "loadtest/report_run.h"

namespace tickstack::loadtest::report {

// nullptr: the stack has no such client, or the client no such query.
const QueryResult* FindQuery(const StackResult& stack, std::string_view client,
                             std::string_view query);

// The clients of a test with their queries, by name, in the order of the first stack that has each.
// Those of one name are one class, whatever stack it asked.
struct ClientNames {
  const ClientResult* client;  // Of that stack.
  std::vector<std::string> queries;
};
std::vector<ClientNames> ClientsOf(const TestResult& test);

// `2 connections, 100 ms after each answer`; `8 connections, one due every 50 ms, at random`.
std::string ClientText(const ClientResult& client);

// Every query of every stack; empty without clients.
std::string ClientTable(const TestResult& test, size_t number);

// A query's times are a metric of this name to the page's script.
std::string ChartName(std::string_view client, std::string_view query);

}  // namespace tickstack::loadtest::report
