#include "measure/clients/query_set.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "base/byte_buffer.h"
#include "base/config.h"
#include "base/file.h"
#include "base/status.h"
#include "measure/clients/query_set_texts.h"

namespace tickstack::measure {
namespace {

constexpr size_t kNameMax = 48, kTextMax = 16'384;
constexpr size_t kClientsMax = 32, kQueriesMax = 64;
// The most pairs of a client and a query: each has histograms of its own, 300 KiB.
constexpr size_t kPairsMax = 256;
constexpr int kWeightMax = 1'000'000;
constexpr double kHourMs = 3'600'000, kRateMax = 100'000, kWindowMax = 86'400;
constexpr uint64_t kFileBytesMax = uint64_t{1} << 20;

// A built-in set, whose text is in query_set_texts.h.
struct BuiltIn {
  std::string_view name, text;
};
constexpr std::array kBuiltIn = {BuiltIn{"monitor", ""}, BuiltIn{"paper", kPaperQueries},
                                 BuiltIn{"heavy", kHeavyQueries}};

// Reads a name that can be a column of a file, a key in JSON and a part of a page.
absl::Status ReadName(const ConfigTable& table, std::string* name) {
  TS_RETURN_IF_ERROR(table.Read("name", name));
  const bool plain = std::all_of(name->begin(), name->end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
  if (plain && !name->empty() && name->size() <= kNameMax) return absl::OkStatus();
  return table.ErrorAt(
      "name", fmt::format("expected 1 to {} letters, digits, - and _, found \"{}\"", kNameMax,
                          name->substr(0, 2 * kNameMax)));
}

absl::Status ReadBetween(const ConfigTable& table, std::string_view key, double least, double most,
                         double* target) {
  double number = *target;
  TS_RETURN_IF_ERROR(table.Read(key, &number));
  if (table.Has(key) && !(number >= least && number <= most)) {
    return table.ErrorAt(key,
                         fmt::format("expected {:g} to {:g}, found {:g}", least, most, number));
  }
  *target = number;
  return absl::OkStatus();
}

// Reads one of two words; leaves `*is_first` as it is if the key is absent.
absl::Status ReadEither(const ConfigTable& table, std::string_view key, std::string_view first,
                        std::string_view second, bool* is_first) {
  std::string word(*is_first ? first : second);
  TS_RETURN_IF_ERROR(table.Read(key, &word));
  *is_first = word == first;
  if (*is_first || word == second) return absl::OkStatus();
  return table.ErrorAt(key,
                       fmt::format("expected \"{}\" or \"{}\", found \"{}\"", first, second, word));
}

absl::Status ReadQuery(const ConfigTable& table, QuerySet& set) {
  QuerySpec query;
  TS_RETURN_IF_ERROR(ReadName(table, &query.name));
  for (const QuerySpec& known : set.queries) {
    if (known.name != query.name) continue;
    return table.ErrorAt("name", fmt::format("a query before has the name {}", query.name));
  }
  TS_RETURN_IF_ERROR(table.Read("text", &query.text));
  if (query.text.empty() || query.text.size() > kTextMax) {
    return table.ErrorAt(
        "text", fmt::format("expected 1 to {} bytes of q, found {}", kTextMax, query.text.size()));
  }
  bool by_activity = true;
  TS_RETURN_IF_ERROR(ReadEither(table, "symbols", "activity", "turn", &by_activity));
  query.symbols_in_turn = !by_activity;
  TS_RETURN_IF_ERROR(ReadBetween(table, "window_s", 0, kWindowMax, &query.window_s));
  bool any = true;
  TS_RETURN_IF_ERROR(ReadEither(table, "check", "any", "not_empty", &any));
  query.not_empty = !any;
  TS_RETURN_IF_ERROR(table.Read("allow_errors", &query.allow_errors));
  set.queries.push_back(std::move(query));
  return absl::OkStatus();
}

absl::Status ReadQueriesOf(const ConfigTable& table, const QuerySet& set, ClientSpec& client) {
  std::vector<std::string> names;
  TS_RETURN_IF_ERROR(table.Read("queries", &names));
  if (names.empty()) return table.ErrorAt("queries", "expected the names of queries, found none");
  for (const std::string& name : names) {
    const auto found = std::find_if(set.queries.begin(), set.queries.end(),
                                    [&name](const QuerySpec& query) { return query.name == name; });
    if (found == set.queries.end()) {
      return table.ErrorAt("queries", fmt::format("no [[query]] has the name \"{}\"", name));
    }
    const auto index = static_cast<size_t>(found - set.queries.begin());
    if (std::find(client.queries.begin(), client.queries.end(), index) != client.queries.end()) {
      return table.ErrorAt("queries", fmt::format("{} is there twice: weights say how often it is "
                                                  "asked",
                                                  name));
    }
    client.queries.push_back(index);
  }
  TS_RETURN_IF_ERROR(table.Read("weights", &client.weights, 1, kWeightMax));
  if (client.weights.empty() || client.weights.size() == names.size()) return absl::OkStatus();
  return table.ErrorAt("weights", fmt::format("expected one for each of the {} queries, found {}",
                                              names.size(), client.weights.size()));
}

absl::Status ReadPace(const ConfigTable& table, ClientSpec& client) {
  bool closed = true;
  TS_RETURN_IF_ERROR(ReadEither(table, "mode", "closed", "open", &closed));
  client.mode = closed ? ClientSpec::Mode::kClosed : ClientSpec::Mode::kOpen;
  for (const char* key : {"rate_per_s", "every_ms", "arrivals"}) {
    if (!closed || !table.Has(key)) continue;
    return table.ErrorAt(key,
                         "expected mode = \"open\" with it: a closed loop asks when it has "
                         "its answer");
  }
  if (!closed && table.Has("think_ms")) {
    return table.ErrorAt("think_ms",
                         "expected mode = \"closed\" with it: an open loop does not "
                         "wait for answers");
  }
  TS_RETURN_IF_ERROR(ReadBetween(table, "think_ms", 0, kHourMs, &client.think_ms));
  TS_RETURN_IF_ERROR(ReadEither(table, "arrivals", "poisson", "even", &client.poisson));
  if (table.Has("rate_per_s") && table.Has("every_ms")) {
    return table.ErrorAt("every_ms", "expected either this or rate_per_s");
  }
  double rate = 0;
  TS_RETURN_IF_ERROR(ReadBetween(table, "rate_per_s", 1e3 / kHourMs, kRateMax, &rate));
  TS_RETURN_IF_ERROR(ReadBetween(table, "every_ms", 1e3 / kRateMax, kHourMs, &client.every_ms));
  if (rate > 0) client.every_ms = 1e3 / rate;
  return absl::OkStatus();
}

absl::Status ReadClient(const ConfigTable& table, QuerySet& set) {
  ClientSpec client;
  TS_RETURN_IF_ERROR(ReadName(table, &client.name));
  for (const ClientSpec& known : set.clients) {
    if (known.name != client.name) continue;
    return table.ErrorAt("name", fmt::format("a client before has the name {}", client.name));
  }
  TS_RETURN_IF_ERROR(table.Read("count", &client.count, 1, kConnectionsMax));
  TS_RETURN_IF_ERROR(ReadPace(table, client));
  TS_RETURN_IF_ERROR(ReadQueriesOf(table, set, client));
  set.clients.push_back(std::move(client));
  return absl::OkStatus();
}

absl::Status CheckSet(const ConfigTable& root, const QuerySet& set) {
  int connections = 0;
  size_t pairs = 0;
  std::vector<bool> asked(set.queries.size());
  for (const ClientSpec& client : set.clients) {
    connections += client.count;
    pairs += client.queries.size();
    for (const size_t query : client.queries) asked[query] = true;
  }
  if (set.clients.empty()) return root.ErrorAt("client", "expected a [[client]], found none");
  if (set.clients.size() > kClientsMax || connections > kConnectionsMax) {
    return root.ErrorAt("client",
                        fmt::format("expected up to {} clients with {} connections in "
                                    "all, found {} with {}",
                                    kClientsMax, kConnectionsMax, set.clients.size(), connections));
  }
  if (set.queries.size() > kQueriesMax || pairs > kPairsMax) {
    return root.ErrorAt("query", fmt::format("expected up to {} queries, and {} with those who ask "
                                             "them, found {} and {}",
                                             kQueriesMax, kPairsMax, set.queries.size(), pairs));
  }
  for (size_t i = 0; i < asked.size(); ++i) {
    if (asked[i]) continue;
    return root.ErrorAt("query", fmt::format("no client asks {}", set.queries[i].name));
  }
  return absl::OkStatus();
}

}  // namespace

bool QuerySet::asks_for_symbols() const {
  return std::any_of(queries.begin(), queries.end(),
                     [](const QuerySpec& query) { return query.asks_for_symbol(); });
}

absl::StatusOr<QuerySet> ParseQuerySet(std::string_view text, std::string_view file_name) {
  TS_ASSIGN_OR_RETURN(const Config file, Config::Parse(text, file_name));
  const ConfigTable& root = file.root();
  QuerySet set;
  set.name = std::filesystem::path(file_name).stem().string();
  set.text = text;
  TS_RETURN_IF_ERROR(root.Read("seed", &set.seed));
  TS_ASSIGN_OR_RETURN(const std::vector<ConfigTable> queries, root.Tables("query"));
  for (const ConfigTable& table : queries) TS_RETURN_IF_ERROR(ReadQuery(table, set));
  TS_ASSIGN_OR_RETURN(const std::vector<ConfigTable> clients, root.Tables("client"));
  for (const ConfigTable& table : clients) TS_RETURN_IF_ERROR(ReadClient(table, set));
  TS_RETURN_IF_ERROR(file.CheckUnusedKeys());
  TS_RETURN_IF_ERROR(CheckSet(root, set));
  return set;
}

absl::StatusOr<QuerySet> LoadQuerySet(const std::string& name_or_file) {
  std::string names;
  for (const BuiltIn& known : kBuiltIn) {
    names += fmt::format("{}, ", known.name);
    if (known.name != name_or_file) continue;
    if (!known.text.empty()) return ParseQuerySet(known.text, name_or_file);
    QuerySet nobody;
    nobody.name = name_or_file;
    return nobody;
  }
  if (!name_or_file.ends_with(".toml")) {
    return NotFound("queries {}: expected {}or a file such as desk.toml", name_or_file, names);
  }
  TS_ASSIGN_OR_RETURN(const ByteBuffer bytes, ReadWholeFile(name_or_file, kFileBytesMax));
  return ParseQuerySet(AsText(bytes.span()), name_or_file);
}

}  // namespace tickstack::measure
