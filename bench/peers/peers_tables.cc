// peers_tables: tickstack's side of the comparisons whose data a Python module generates. It loads
// the tables of a folder (loaded_tables.h) and then answers on standard input, one JSON object per
// line:
//
//   {"write":"2016.01.02","db":"DIR"}       -> {}: the tables are that partition of a database
//   {"evaluate":...}                        see answerer.h
//   {"define":["low","high"],"q":"(1;10)"}  -> {}: queries find the items of the list that `q`
//                                           evaluates to by these names

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "bench/measured_machine.h"
#include "bench/peers/answerer.h"
#include "bench/peers/loaded_tables.h"

namespace tickstack::bench {
namespace {

Json Define(LoadedTables& tables, const std::vector<std::string>& names, const std::string& text) {
  const absl::StatusOr<Value> values = query::Evaluate(text, tables);
  if (!values.ok()) return {{"error", Message(values.status())}};
  if (!values->is_list() || values->count() != names.size()) {
    return {{"error", fmt::format("{} names: expected a general list of as many items, found {}",
                                  names.size(), values->count())}};
  }
  for (size_t i = 0; i < names.size(); ++i) tables.Define(names[i], values->items()[i]);
  return Json::object();
}

Json Write(const LoadedTables& tables, const std::string& date, const std::string& database) {
  const std::optional<int32_t> day = ParseDate(date);
  if (!day.has_value()) return {{"error", fmt::format("{}: expected a date", date)}};
  const absl::Status status = tables.WriteTo(database, *day);
  return status.ok() ? Json::object() : Json{{"error", Message(status)}};
}

int Main(int argc, char** argv) {
  std::string directory;
  CLI::App app("Loads generated tables and answers queries about them.");
  app.add_option("--dir", directory, "The folder of the tables")
      ->required()
      ->check(CLI::ExistingDirectory);
  CLI11_PARSE(app, argc, argv);

  const absl::StatusOr<std::unique_ptr<LoadedTables>> tables = LoadedTables::Load(directory);
  if (!tables.ok()) {
    fmt::print(stderr, "peers_tables: {}\n", Message(tables.status()));
    return 1;
  }
  const Json ready = {{"machine", MachineText()}};
  std::cout << ready.dump() << std::endl;

  Answerer(tables->get()).Serve([&](const Json& request) {
    if (request.contains("define")) {
      return Define(**tables, request.at("define").get<std::vector<std::string>>(),
                    request.value("q", ""));
    }
    if (request.contains("write")) {
      return Write(**tables, request.at("write").get<std::string>(), request.value("db", ""));
    }
    return Json{{"error", "no `evaluate`, `define` or `write`: " + request.dump()}};
  });
  return 0;
}

}  // namespace
}  // namespace tickstack::bench

int main(int argc, char** argv) { return tickstack::bench::Main(argc, argv); }
