#pragma once

// The clients' part of the page: a table of all queries, lines of the side-by-side table, and a
// chart of distributions for each class of clients.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "loadtest/report/run.h"

namespace tickstack::loadtest::report {

// Returns a query of a client; nullptr if the stack has no such client, or the client no such
// query.
const RecordedQuery* FindQuery(const RecordedStack& stack, std::string_view client,
                               std::string_view query);

// A class of clients and its queries. Clients of one name are one class, whatever stack they ask.
struct ClientNames {
  const RecordedClient* client;  // From the first stack that has the class.
  std::vector<std::string> queries;
};
// Returns the classes of a test, in the order of the first stack that has each.
std::vector<ClientNames> ClientsOf(const RecordedTest& test);

// Describes a class: `2 connections, 100 ms after each answer`, `8 connections, one due every 50
// ms, at random`.
std::string ClientText(const RecordedClient& client);

// Returns the table of every query of every stack; empty without clients.
std::string ClientTable(const RecordedTest& test, size_t number);

// Returns the name by which the page's script finds the times of a query.
std::string ChartName(std::string_view client, std::string_view query);

}  // namespace tickstack::loadtest::report
