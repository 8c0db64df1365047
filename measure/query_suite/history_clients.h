#pragma once

// The clients of a run: connections to an hdb by kdb+ IPC, each of which asks, waits for the
// answer, and asks again.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/histogram.h"
#include "table/value.h"
#include "wire/address.h"

namespace tickstack::measure::query_suite {

// The answers of a round.
struct AnswerTimes {
  Histogram ns = Histogram();  // From sending a question until its answer was decoded.
  int64_t elapsed_ns = 0;      // From the first question until the last answer.
};

// Threads: one owner, which also runs the connections. So decoding a large answer delays other
// clients' answers, as on a machine with that many clients and few cores.
class HistoryClients {
 public:
  // Is asked every 100 ms; an error ends the wait, and is returned.
  using Check = std::function<absl::Status()>;

  // Connects to a server. kUnavailable if it does not answer.
  static absl::StatusOr<std::unique_ptr<HistoryClients>> Connect(const wire::Address& address,
                                                                 size_t count, Check check);
  ~HistoryClients();
  HistoryClients(const HistoryClients&) = delete;
  HistoryClients& operator=(const HistoryClients&) = delete;

  // Every client asks its question, given by its number, all at the same time; then again and again
  // until `seconds` are over. Each asks at least once; 0: each asks once. `answers` has the
  // expected answer of each client, or an error value where none is known yet, which the first
  // answer then replaces. Errors: kUnknown with the client and q's error; kDataLoss if an answer
  // differs from the expected one; kUnavailable if a connection is lost; those of `check`. After an
  // error, no other call is allowed.
  absl::StatusOr<AnswerTimes> Ask(std::span<const std::string> questions, double seconds,
                                  std::vector<Value>& answers);

 private:
  struct Impl;
  explicit HistoryClients(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tickstack::measure::query_suite
