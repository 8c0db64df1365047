// peers_day: tickstack's own side of bench/peers. Makes the day, writes it where the others and an
// RDB find it, and then answers what bench/peers asks on its standard input, one JSON object a
// line:
//
//   {"evaluate":"exec max time from quote","threads":2,"answer":"FILE"}
//       -> {"ns":...,"count":...}, or {"error":"..."}. `answer` (optional): the file that gets the
//          value, encoded as in an IPC message, after the clock has stopped.
//   {"read_memory":2}
//       -> {"bytes_per_s":...}: what so many threads read of the quotes' time column, doing nothing
//          with it but adding it up. That is what bounds `max time`.
//
// The time of an evaluation is parsing, evaluating and building the result, as one call of
// query::Evaluate; not freeing the result. The program ends with its input.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "base/time.h"
#include "base/worker_pool.h"
#include "bench/machine.h"
#include "bench/peers/captured_day.h"
#include "query/query.h"
#include "wire/codec.h"

namespace tickstack::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kResultBytesMax = size_t{8} << 30;

class Answerer {
 public:
  explicit Answerer(CapturedDay* day) : day_(*day) {}

  Json Answer(const Json& request) {
    if (request.contains("evaluate")) {
      return Evaluate(request.at("evaluate").get<std::string>(), request.value("threads", 1),
                      request.value("answer", std::string()));
    }
    if (request.contains("read_memory")) return ReadMemory(request.at("read_memory").get<int>());
    return {{"error", "neither `evaluate` nor `read_memory`: " + request.dump()}};
  }

 private:
  Json Evaluate(const std::string& text, int threads, const std::string& answer_path) {
    query::Limits limits;
    limits.max_result_bytes = kResultBytesMax;
    limits.workers = threads > 1 ? HelpersOf(threads) : nullptr;
    const int64_t begin_ns = MonotonicNs();
    absl::StatusOr<Value> value = query::Evaluate(text, day_, limits);
    const int64_t ns = MonotonicNs() - begin_ns;
    if (!value.ok()) return {{"error", Message(value.status())}};
    if (!answer_path.empty()) {
      const absl::Status written = Write(*value, answer_path);
      if (!written.ok()) return {{"error", Message(written)}};
    }
    return {{"ns", ns}, {"count", value->count()}};
  }

  // A thread less than asked for: the caller is one.
  WorkerPool* HelpersOf(int threads) {
    std::unique_ptr<WorkerPool>& pool = helpers_[threads];
    if (pool == nullptr) pool = std::make_unique<WorkerPool>(static_cast<size_t>(threads - 1));
    return pool.get();
  }

  static absl::Status Write(const Value& value, const std::string& path) {
    TS_RETURN_IF_ERROR(wire::EncodedBytes(value).status());
    ByteBuffer bytes;
    wire::Encode(value, bytes);
    TS_ASSIGN_OR_RETURN(File file, File::OpenOrCreate(path));
    TS_RETURN_IF_ERROR(file.Truncate(0));
    return file.WriteAt(0, bytes);
  }

  // The best of five.
  Json ReadMemory(int threads) {
    const Snapshot quote = *day_.FindTable("quote");
    const auto column = static_cast<size_t>(quote.schema().Find("time"));
    double best = 0;
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
      // Without a use of the sums the reading could be left out.
      for (const uint64_t sum : sums) checksum_ += sum;
      best = std::max(best, bytes / seconds);
    }
    return {{"bytes_per_s", best}, {"checksum", checksum_}};
  }

  CapturedDay& day_;
  std::map<int, std::unique_ptr<WorkerPool>> helpers_;  // By threads asked for.
  uint64_t checksum_ = 0;
};

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
  for (std::string line; std::getline(std::cin, line);) {
    const Json request = Json::parse(line, nullptr, false);
    const Json answer = request.is_object() ? answerer.Answer(request)
                                            : Json{{"error", "not a JSON object: " + line}};
    std::cout << answer.dump() << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace tickstack::bench

int main(int argc, char** argv) { return tickstack::bench::Main(argc, argv); }
