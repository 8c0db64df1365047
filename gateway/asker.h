#pragma once

// Asks replicas on one thread: a loop, and a connection to each of them.

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "gateway/link.h"
#include "gateway/replicas.h"
#include "wire/event_loop.h"

namespace tickstack::gateway {

// Threads: one call at a time.
class Asker {
 public:
  explicit Asker(Replicas& replicas);
  ~Asker();
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;

  // As Replicas::Ask.
  absl::StatusOr<Value> Ask(const Value& request, bool only_reads, const query::Limits& limits,
                            const std::vector<bool>& may);

 private:
  // One call of Ask.
  class Question;

  Replicas& replicas_;
  wire::EventLoop loop_;
  std::vector<std::unique_ptr<Link>> links_;  // By replica.
};

}  // namespace tickstack::gateway
