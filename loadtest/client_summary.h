#pragma once

// What clients asked and found, in the files of a run.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "loadtest/result.h"
#include "loadtest/summary.h"

namespace tickstack::loadtest {

// nullptr: the stack has no such client, or the client no such query.
const ClientResult* FindClient(const StackResult& stack, std::string_view client);
const QueryResult* FindQuery(const StackResult& stack, std::string_view client,
                             std::string_view query);

// What is wrong with the answers that clients got: a query that failed and may not, or a class of
// clients that got none at all. Empty: nothing.
std::string WrongAnswers(const StackResult& stack);

// `clients` and `queries` of a stack; nothing without clients.
void AddClients(const StackResult& stack, nlohmann::ordered_json& json);

// Columns of summary.csv: all questions of all clients of a stack together.
inline constexpr std::string_view kClientColumns =
    ",client_answers_per_minute,client_errors,client_unanswered,client_p50_ms,client_p99_ms,"
    "client_p999_ms,client_max_ms";
std::string ClientCells(const StackResult& stack);

// queries.csv: some seconds of one query of one monitor's clients in each row.
std::string QueriesCsv(const RunResult& run);

}  // namespace tickstack::loadtest
