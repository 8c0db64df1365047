#pragma once

// The election store of a simulated cluster: one value with a revision, replaced by
// compare-and-swap. Members reach it over a network of its own, on which requests and answers are
// slow, late or lost. A write may take place although its answer is lost, and long after its sender
// has given it up.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "tests/simulate/world.h"
#include "tickerplant/cluster/election_store.h"

namespace tickstack::simulate {

class Store {
 public:
  explicit Store(World& world) : world_(world) {}

  // The store as one process reaches it. It ends with the process's program.
  class Client final : public tickerplant::ElectionStore {
   public:
    // Requests without an answer fail with kUnavailable after `timeout_ns`.
    Client(Store& store, Process& process, int64_t timeout_ns)
        : store_(store), process_(process), timeout_ns_(timeout_ns) {}
    void Read(std::function<void(absl::StatusOr<Record>)> done) override;
    void Write(uint64_t revision, std::string value,
               std::function<void(absl::StatusOr<Written>)> done) override;

   private:
    struct Call;
    // Begins a request: `take` is called when it reaches the store, and returns the answer. Returns
    // when that is; 0: never.
    int64_t Ask(std::function<std::function<void()>()> take, std::function<void()> fail);

    Store& store_;
    Process& process_;
    const int64_t timeout_ns_;
    std::set<std::shared_ptr<Call>> calls_;
  };

  const tickerplant::ElectionStore::Record& record() const { return record_; }
  // True if a write is under way, perhaps of a process that is dead by now.
  bool may_change() const { return world_.MonotonicNs() <= last_write_ns_; }

  // Requests and answers take up to this long.
  void set_delay_ns_max(int64_t ns) { delay_ns_max_ = ns; }
  // One in `requests` requests and one in `answers` answers is lost; 0: none.
  void set_lost_one_in(uint64_t requests, uint64_t answers) {
    lost_request_ = requests;
    lost_answer_ = answers;
  }
  // The process cannot reach the store before `until_ns` (monotonic).
  void Cut(const Process& process, int64_t until_ns) { cuts_[&process] = until_ns; }
  // The store answers nobody before `until_ns`: it has no quorum.
  void Stop(int64_t until_ns) { stopped_until_ns_ = until_ns; }
  void CallOffTrouble();

 private:
  // Calls `function` when a message that is sent now arrives, if it does. Returns when; 0: never.
  int64_t Send(const Process& process, uint64_t lost_one_in, std::function<void()> function);

  World& world_;
  tickerplant::ElectionStore::Record record_;
  int64_t delay_ns_max_ = 2'000'000;
  uint64_t lost_request_ = 0, lost_answer_ = 0;
  int64_t stopped_until_ns_ = 0;
  std::map<const Process*, int64_t> cuts_;
  int64_t last_write_ns_ = 0;  // When the last write that was sent arrives.
};

}  // namespace tickstack::simulate
