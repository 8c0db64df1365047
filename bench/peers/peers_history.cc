// peers_history: tickstack's side of the comparison of history. Its first line describes the
// machine; then it answers queries about a database on disk, as answerer.h specifies, until its
// input ends.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>

#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"
#include "bench/measured_machine.h"
#include "bench/peers/answerer.h"
#include "hdb/hdb.h"
#include "hdb/hdb_environment.h"

namespace tickstack::bench {
namespace {

int Main(int argc, char** argv) {
  std::string root;
  CLI::App app("Answers queries about a database.");
  app.add_option("--db", root, "The database")->required()->check(CLI::ExistingDirectory);
  CLI11_PARSE(app, argc, argv);
  InitLogging("peers_history", LogLevel::kOff);
  hdb::Hdb hdb(root);
  if (const absl::Status loaded = hdb.Reload(); !loaded.ok()) {
    fmt::print(stderr, "peers_history: {}\n", Message(loaded));
    return 1;
  }
  const Json ready = {{"machine", MachineText()}};
  std::cout << ready.dump() << std::endl;
  hdb::HdbEnvironment environment(&hdb, &SystemClock::Instance());
  Answerer(&environment).Serve([](const Json& request) {
    return Json{{"error", "no `evaluate`: " + request.dump()}};
  });
  return 0;
}

}  // namespace
}  // namespace tickstack::bench

int main(int argc, char** argv) { return tickstack::bench::Main(argc, argv); }
