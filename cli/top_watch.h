#pragma once

// Asks the processes of a stack for their statistics, again and again, for `tickstack top`.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "serve/metrics.h"
#include "wire/address.h"
#include "wire/client.h"

namespace tickstack::cli {

// A process to watch.
struct TopTarget {
  std::string name;
  std::string role;  // Empty: unknown, so the process is asked which functions it has.
  wire::Address address;
  bool has_address = true;  // False: the kernel chooses its port, so it cannot be found.
};

// What a process answered last.
struct TopAnswer {
  std::string name;
  std::string role;   // Empty while unknown.
  std::string error;  // Why there are no facts; empty: it answers.
  // The answers by the name of their function, `.u.stats`; `.tier.stats` is under "tiers".
  serve::StatusFacts facts;
  int64_t time_ns = 0;  // When it answered, monotonic.
};

// Threads: one owner.
class TopWatch {
 public:
  TopWatch(const std::vector<TopTarget>& targets, const wire::ClientOptions& options);
  ~TopWatch();
  TopWatch(const TopWatch&) = delete;
  TopWatch& operator=(const TopWatch&) = delete;

  // Asks all processes that are connected and have answered all earlier questions.
  void Begin();
  // True if no answer and no first connection is pending.
  bool Done() const;
  // Handles answers and connections until Done or a stop signal, at most for this time.
  void Run(std::chrono::nanoseconds at_most);
  // Handles answers and connections for all of this time, even if Done.
  void RunFor(std::chrono::nanoseconds time);
  // Returns the current answers, in the order of the targets. A process without an answer to the
  // questions of Begin has an error.
  std::vector<TopAnswer> Take() const;
  // True after SIGINT or SIGTERM.
  bool stopped() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tickstack::cli
