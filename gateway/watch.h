#pragma once

// Knows what the processes behind a gateway have: which of them answer, which tables with which
// columns, and which days.
//
// Days move from the last side to the past one at the end of a day: first an hdb has the day, then
// the rdbs drop it. A pass of the watch therefore asks the rdbs first and the hdbs after their
// answers, and a day that both have counts as a past one: no day is missed, and none is taken
// twice. If an hdb does not answer in a pass, a day that the rdbs have dropped meanwhile stays a
// day of the last side. Queries for it find no process that has it, and fail rather than omit its
// rows.
//
// Threads: any may call Get and GetNewer. The watch has a thread, which owns the connections.

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "base/name_map.h"
#include "gateway/link.h"
#include "gateway/replicas.h"
#include "query/columns/remote_table.h"
#include "wire/event_loop.h"

namespace tickstack::gateway {

using Side = query::RemoteTable::Side;

// What one process answered last.
struct ProcessContents {
  bool has_answered = false;
  std::vector<int32_t> days;                 // Ascending.
  NameMap<std::vector<std::string>> tables;  // Columns by table, without `date`.
  std::string failure;                       // Why it did not answer; empty: it did.
};

struct SideContents {
  std::vector<ProcessContents> processes;    // By replica.
  std::vector<int32_t> days;                 // Ascending; no day is on both sides.
  NameMap<std::vector<std::string>> tables;  // Those of all processes.
};

// Immutable.
struct Contents {
  SideContents last, past;
  // Not OK: a side has never answered. Says which, and why.
  absl::Status status;

  const SideContents& Of(Side side) const { return side == Side::kPast ? past : last; }
};

class Watch {
 public:
  // A day, table or column that is added is known after this time.
  static constexpr std::chrono::milliseconds kPeriod{100};

  // nullptr: there is no such side. Both must outlive the watch.
  Watch(Replicas* last, Replicas* past);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Returns what the last pass found. Waits for the first pass.
  std::shared_ptr<const Contents> Get();
  // Makes a pass, and waits for it.
  std::shared_ptr<const Contents> GetNewer();

 private:
  void Run();
  void Pass();
  // Asks the processes of one side, and takes the answers that come in time.
  void AskSide(Replicas& replicas, std::vector<std::unique_ptr<Link>>& links, SideContents& side);

  Replicas* const last_;
  Replicas* const past_;
  const Value last_question_, past_question_;

  // Used by the thread.
  wire::EventLoop loop_;
  std::vector<std::unique_ptr<Link>> last_links_, past_links_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::shared_ptr<const Contents> contents_;
  uint64_t begun_ = 0, done_ = 0;  // Passes.
  bool wanted_ = false, stop_ = false;

  std::thread thread_;
};

}  // namespace tickstack::gateway
