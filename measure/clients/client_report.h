#pragma once

// Writes the measurements of clients: a part of the monitor's summary, and a CSV file with a row
// for each query and each 10 s.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/histogram.h"
#include "measure/clients/client_group.h"

namespace tickstack::measure {

// Returns the counts and percentiles of times, in ms.
nlohmann::ordered_json DistributionJson(const Histogram& histogram);

// Adds `clients` and `queries` to a summary. Adds nothing without clients.
void AddClients(const std::vector<ClientResult>& clients, nlohmann::ordered_json& summary);

// Returns a text with a line for each query.
std::string ClientsText(const std::vector<ClientResult>& clients);

// Returns the CSV file, with the columns
// `client,query,time,count,errors,p50_ms,p99_ms,p999_ms,max_ms`; `time` is the start of the 10 s.
std::string SlicesCsv(const std::vector<ClientResult>& clients);

}  // namespace tickstack::measure
