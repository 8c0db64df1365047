// peers_day: tickstack's side of bench/peers. It creates the day, writes it for the other systems
// and for an RDB, and then answers requests of bench/peers on standard input, one JSON object per
// line:
//
//   {"evaluate":...}   see answerer.h
//   {"read_memory":2}
//       -> {"bytes_per_s":...}: the rate at which this many threads read the quotes' time column
//          and only add it up. That is the bound of `max time`.
//
// The program ends with its input.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "bench/measured_machine.h"
#include "bench/peers/answerer.h"
#include "bench/peers/captured_day.h"

namespace tickstack::bench {
namespace {

// Returns the best of five.
Json ReadMemory(CapturedDay& day, int threads) {
  const Snapshot quote = *day.FindTable("quote");
  const auto column = static_cast<size_t>(quote.schema().Find("time"));
  double best = 0;
  uint64_t checksum = 0;
  for (int round = 0; round < 5; ++round) {
    const int64_t begin_ns = MonotonicNs();
    std::vector<uint64_t> sums(static_cast<size_t>(threads));
    std::vector<std::thread> readers;
    for (size_t reader = 0; reader < sums.size(); ++reader) {
      readers.emplace_back([&quote, column, reader, &sums] {
        uint64_t sum = 0;
        for (size_t chunk = reader; chunk < quote.chunks(); chunk += sums.size()) {
          for (const uint64_t word : quote.Chunk<uint64_t>(column, chunk)) sum += word;
        }
        sums[reader] = sum;
      });
    }
    for (std::thread& reader : readers) reader.join();
    const auto bytes = static_cast<double>(quote.rows() * sizeof(uint64_t));
    const auto seconds = static_cast<double>(MonotonicNs() - begin_ns) / 1e9;
    // The sums must be used, or the reads could be optimized away.
    for (const uint64_t sum : sums) checksum += sum;
    best = std::max(best, bytes / seconds);
  }
  return {{"bytes_per_s", best}, {"checksum", checksum}};
}

int Main(int argc, char** argv) {
  CapturedDayOptions options;
  std::string directory;
  CLI::App app("Makes the day of bench/peers and answers queries about it.");
  app.add_option("--dir", directory, "A folder for the columns and the log")
      ->required()
      ->check(CLI::ExistingDirectory);
  app.add_option("--quotes", options.quotes, "Rows; a tenth as many trades")->capture_default_str();
  app.add_option("--symbols", options.symbols, "Symbols")->capture_default_str();
  app.add_option("--seed", options.seed, "Another one, another day")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  options.log_path = fmt::format("{}/sym{}", directory, FormatDate(DayOf(kMarketOpenNs)));
  absl::StatusOr<std::unique_ptr<CapturedDay>> day = CapturedDay::Make(options);
  const absl::Status status = day.ok() ? (*day)->WriteColumns(directory) : day.status();
  if (!status.ok()) {
    fmt::print(stderr, "peers_day: {}\n", Message(status));
    return 1;
  }
  const Json ready = {{"machine", MachineText()}, {"log", options.log_path}};
  std::cout << ready.dump() << std::endl;

  Answerer answerer(day->get());
  answerer.Serve([&](const Json& request) {
    if (request.contains("read_memory")) {
      return ReadMemory(**day, request.at("read_memory").get<int>());
    }
    return Json{{"error", "neither `evaluate` nor `read_memory`: " + request.dump()}};
  });
  return 0;
}

}  // namespace
}  // namespace tickstack::bench

int main(int argc, char** argv) { return tickstack::bench::Main(argc, argv); }
