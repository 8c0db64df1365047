#pragma once

// Processes that give the same answers, such as the rdbs of a stack: each question goes to one of
// them, and to another one if that one fails or is slow.
//
//   a question -----> the replica with the fewest questions under way ----> its answer
//                        | no answer for hedge_ns,     | connection lost
//                        | and silent                  |
//                        v                             v
//                     a second one as well,         the next one, if the question
//                     the first answer counts       only reads or was not sent
//
// The watch (watch.h) asks each replica a short question every 100 ms. A replica that does not
// answer it is silent: it hangs, or all its threads are busy. A long query on a replica that does
// answer is not sent twice.
//
// A replica that is doubtful, silent or has just failed is asked only if no other one is left, and
// one that has not read its whole log, or is another shard, is not asked: its answers would lack
// rows. With
// urgent replicas, questions of urgent users go to these, and all others to the rest, as long as
// there are such replicas left.
//
// A connection that waits for an answer nobody needs any more is closed: the process on the other
// side stops evaluating for a client that is gone.
//
// A Replicas knows the state of each replica and chooses the next one; asker.h asks it.
//
// Threads: any.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/link.h"
#include "wire/address.h"

namespace tickstack::gateway {

struct ReplicaOptions {
  // A question without an answer after this time is sent to a second replica, too, if the first one
  // is silent; 0: never.
  int64_t hedge_ns = 250'000'000;
  // A replica that did not answer is asked again after this time, or if no other one is left.
  int64_t rest_ns = 1'000'000'000;
  std::vector<std::string> urgent_users{};
  LinkOptions link{};
};

// What the watch of the processes (watch.h) knows about one.
enum class Health : uint8_t {
  kUnknown,   // It has not answered yet.
  kLive,      // It answers, and has all rows that were published.
  kDoubtful,  // It had all rows, but is not connected to the tickerplant, or had to refuse some.
  // LinkOptions::ready_question refuses these two.
  kBehind,  // It has not read its whole log yet.
  kOther,   // It is another shard than in the configuration, or has another map of shards.
};

inline bool IsRefused(Health health) {
  return health == Health::kBehind || health == Health::kOther;
}

// One replica. Any thread may read it, and any thread counts; the watch sets what it knows.
struct Replica {
  // From this time without an answer on, a replica is silent. The watch sets a longer time if its
  // last answer took long: it may be far away.
  static constexpr int64_t kSilentNs = 100'000'000;
  std::atomic<int64_t> silent_after_ns{kSilentNs};
  bool IsSilent(int64_t now_ns) const {
    const int64_t since_ns = waits_since_ns.load(std::memory_order_relaxed);
    return since_ns != 0 && now_ns - since_ns > silent_after_ns.load(std::memory_order_relaxed);
  }
  // Silent for so long that a replica of another day is asked in its place. A process on a busy
  // machine may be silent for a moment, and that must not bring a day back that has ended.
  static constexpr int64_t kLostNs = 2'000'000'000;
  bool IsLost(int64_t now_ns) const { return IsSilent(now_ns - kLostNs); }

  wire::Address address;
  bool urgent = false;
  std::atomic<Health> health{Health::kUnknown};
  // When the watch sent the question that is not answered; 0: there is none. Steady clock, ns.
  std::atomic<int64_t> waits_since_ns{0};
  std::atomic<int64_t> under_way{0};  // Questions that it has not answered.
  std::atomic<uint64_t> answers{0};   // Errors in q count as answers.
  std::atomic<uint64_t> failures{0};  // Connections lost or refused while a question waited.
  std::atomic<uint64_t> hedged{0};  // Questions that another replica got, too, because it was slow.
  // Until when it is asked only if no other one is left, on the steady clock in ns.
  std::atomic<int64_t> rests_until_ns{0};
};

class Replicas {
 public:
  // `name` is that of the group in errors: `rdb`, or `shard a: rdb`. There must be at least one
  // address.
  Replicas(std::string name, const std::vector<wire::Address>& addresses,
           const std::vector<wire::Address>& urgent, ReplicaOptions options);
  Replicas(const Replicas&) = delete;
  Replicas& operator=(const Replicas&) = delete;

  const std::string& name() const { return name_; }
  const ReplicaOptions& options() const { return options_; }
  size_t size() const { return replicas_.size(); }
  Replica& at(size_t replica) { return *replicas_[replica]; }
  const Replica& at(size_t replica) const { return *replicas_[replica]; }

  // Returns the replica to ask next, which is not in `tried`; nullopt if all are.
  std::optional<size_t> Choose(const std::vector<bool>& tried, std::string_view user);

 private:
  const std::string name_;
  const ReplicaOptions options_;
  bool has_urgent_ = false;
  std::vector<std::unique_ptr<Replica>> replicas_;
  std::atomic<size_t> next_{0};  // Where the search for the least busy one begins.
};

}  // namespace tickstack::gateway
