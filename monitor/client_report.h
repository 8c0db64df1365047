#pragma once

// What clients found, as the monitor writes it down: part of its summary, and a file of its own
// with a row for each query and some seconds, however many questions that were.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "monitor/client_group.h"

namespace tickstack::monitor {

// `clients` and `queries` of a summary; nothing without clients.
void AddClients(const std::vector<ClientResult>& clients, nlohmann::ordered_json& summary);

// A line for each query.
std::string ClientsText(const std::vector<ClientResult>& clients);

// `client,query,time,count,errors,p50_ms,p99_ms,p999_ms,max_ms`: `time` is when the seconds began.
std::string SlicesCsv(const std::vector<ClientResult>& clients);

}  // namespace tickstack::monitor
