#pragma once

// Writes what clients asked and measured into the files of a run.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "loadtest/result.h"
#include "loadtest/summary.h"

namespace tickstack::loadtest {

// Return nullptr if the stack has no such client, or the client no such query.
const ClientResult* FindClient(const StackResult& stack, std::string_view client);
const QueryResult* FindQuery(const StackResult& stack, std::string_view client,
                             std::string_view query);

// Returns what is wrong with the answers that clients got: queries that failed although they may
// not, and classes of clients that got no answer at all. Empty if nothing is wrong.
std::string WrongAnswers(const StackResult& stack);

// Adds a stack's `clients` and `queries` to `json`; nothing if it has no clients.
void AddClients(const StackResult& stack, nlohmann::ordered_json& json);

// Columns of summary.csv. They cover all questions of all clients of a stack together.
inline constexpr std::string_view kClientColumns =
    ",client_answers_per_minute,client_errors,client_unanswered,client_p50_ms,client_p99_ms,"
    "client_p999_ms,client_max_ms";
std::string ClientCells(const StackResult& stack);

// Returns queries.csv: each row covers some seconds of one query of one monitor's clients.
std::string QueriesCsv(const RunResult& run);

}  // namespace tickstack::loadtest
