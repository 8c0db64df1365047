#pragma once

// Asks several questions of one query at the same time, on the thread of the query: a loop, and a
// connection to each replica.
//
//   questions of a query   0 a:rdb   1 b:rdb   2 a:hdb   3 a:hdb
//   lanes                  a:rdb: 0            b:rdb: 1            a:hdb: 2, then 3
//
// A lane is a group of replicas. Lanes work at the same time. Within a lane one question follows
// the other, since a link asks one question at a time. So a query never has more than one question
// at each group, as if it asked for its parts in turn. The number of queries that the gateway
// evaluates at the same time bounds the questions at a process, and its connections.
//
// Ownership. The thread of a query borrows an Asker from the pool, and returns it when all answers
// are there, or will not be used. In between, the loop, the links, the lanes and the answers are
// that thread's alone. No thread waits for another one, so queries cannot block each other, however
// many wait for answers. Only the counters of a Replica are shared; they are atomic.
//
// Order. The answers are in the order of the questions, whichever process is the fastest. The first
// question in this order that fails decides the error. Those after it are given up, since nobody
// will use their answers; those before it are still waited for. So the caller sees what it would
// see if it asked one question after the other.
//
// Memory. An answer of 1 MiB or more counts from the time when its length is known, unless it is
// compressed; any other answer counts when it is complete. If all answers together have more than
// Limits::max_result_bytes, the last ones in the order of the questions are given up, and the error
// of the first of these is `limit`. A compressed answer may have Link's largest size before that.
//
// Waiting. Waking a thread costs about as much as a short query. So a query that asks one group
// polls for at most 100 us before it sleeps, if the answer before came within that time. It does so
// only while no other query asks, and none has for 10 ms: otherwise these use the core better.

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "gateway/link.h"
#include "gateway/replicas.h"
#include "query/columns/limits.h"
#include "table/value.h"
#include "wire/event_loop.h"

namespace tickstack::gateway {

struct Question {
  Replicas* group = nullptr;
  const Value* request = nullptr;
  bool only_reads = true;           // It may be evaluated twice.
  std::vector<bool> may{};          // Which replicas may be asked; empty: all.
  std::vector<bool> if_no_other{};  // Which others may, if none of these answers; empty: none.
};

// Threads: one call at a time.
class Asker {
 public:
  Asker();
  ~Asker();
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;

  // As AskerPool::Ask. `under_way`: the number of calls, this one included, which may poll while it
  // is the only one; nullptr: it may not.
  std::vector<absl::StatusOr<Value>> Ask(std::span<const Question> questions,
                                         const query::Limits& limits,
                                         const std::atomic<size_t>* under_way);

 private:
  using Links = std::vector<std::unique_ptr<Link>>;  // By replica.
  struct Call;
  class Attempt;
  class Lane;
  class Round;

  Links& LinksTo(const Replicas& group);

  wire::EventLoop loop_;
  std::map<const Replicas*, Links> links_;
  bool answers_soon_ = true;  // The last answer came within the time for which a query polls.
};

// Threads: any. A call blocks its thread. The pool grows to the number of threads that ask at the
// same time. Replicas that are asked must outlive it.
class AskerPool {
 public:
  AskerPool() = default;
  AskerPool(const AskerPool&) = delete;
  AskerPool& operator=(const AskerPool&) = delete;

  // Returns the answers, in the order of the questions, up to the first error. Errors: kUnknown
  // with the signal of an answer that is an error; kUnavailable, which names each replica that was
  // tried and why it failed; `stop` (kResourceExhausted) at the deadline or when it is cancelled;
  // `limit` if the answers have more than limits.max_result_bytes. If there is one question,
  // `limits.sink` may take its answer; after an error it may have a part of it.
  std::vector<absl::StatusOr<Value>> Ask(std::span<const Question> questions,
                                         const query::Limits& limits);
  absl::StatusOr<Value> Ask(const Question& question, const query::Limits& limits);

 private:
  std::atomic<size_t> under_way_{0};    // Calls of Ask.
  std::atomic<int64_t> crowded_ns_{0};  // When there were two of them last, on the steady clock.
  std::mutex mutex_;
  std::vector<std::unique_ptr<Asker>> idle_;  // Guarded by mutex_.
};

}  // namespace tickstack::gateway
