#pragma once

// A class of clients: its connections to the rdb, their questions, and how long the answers take.
//
// kdb+ IPC answers the questions of a connection in order, so a second question on a connection
// would have to wait for the answer to the first one, however fast the server is. Each connection
// therefore has at most one pending question.
//
//   closed   Each connection asks, waits for the answer, thinks, and asks again. So a slow server
//            is asked less often, as by people who wait for it. Times are measured from when a
//            question was asked.
//   open     Questions are due by a schedule (open_schedule.h) that does not depend on answers.
//            The next one goes to the first free connection. While there is none, questions wait,
//            and none is skipped. Times are measured from when a question was due, so they include
//            the wait.
//
// If a connection is lost, its pending question is asked again when it is connected again, and the
// question's time continues. An answer that is an error is counted as one, and its time is
// measured.
//
// After End no further questions become due; those that were due are still asked and measured.
// Questions without an answer when the result is taken count as unanswered, with the time so far.
//
// This is the state machine: it has no socket and no clock. Threads: one owner.

#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "measure/clients/metric.h"
#include "measure/clients/open_schedule.h"
#include "measure/clients/query_set.h"
#include "measure/clients/question_text.h"
#include "table/value.h"

namespace tickstack::measure {

// One query's answers that arrived in kSliceNs, 10 s.
struct QuerySlice {
  int64_t begin_ns = 0;
  uint64_t errors = 0;
  Distribution times;
};

// The measurements of one class for one query.
struct QueryResult {
  std::string query;
  bool errors_allowed = false;
  uint64_t errors = 0;      // Answers that were errors, or empty although they must not be.
  uint64_t unanswered = 0;  // Included in the times.
  std::string first_error;
  Histogram whole, last_minute;  // Times in ns.
  std::vector<QuerySlice> slices;
};
struct ClientResult {
  ClientSpec spec;     // For an open loop, with the every_ms that was used.
  double seconds = 0;  // Duration from Begin until End.
  uint64_t lost = 0;   // Number of connections that were lost.
  uint64_t asked = 0;
  std::vector<QueryResult> queries;
};

// The interface of a group's connections to the rdb.
class QuestionSender {
 public:
  virtual ~QuestionSender() = default;
  // Sends a question. Its answer must be passed to ClientGroup::OnAnswer with the same connection.
  virtual void Ask(size_t connection, std::string_view text) = 0;
};

class ClientGroup {
 public:
  static constexpr int64_t kSliceNs = 10'000'000'000;
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  // `every_ns` is the mean interval of an open loop without a rate of its own. The other arguments
  // must outlive this object.
  ClientGroup(const QuerySet& set, size_t client, const SymbolActivity& symbols, int64_t every_ns,
              QuestionSender* sender);

  // In all functions, `now_ns` is the time of the call in ns since 2000.

  // Discards all measurements and starts to ask. Answers to earlier questions do not count.
  void Begin(int64_t now_ns);
  void End(int64_t now_ns);
  // The wall clock was set ahead by `ns`, or back if negative: questions stay at their pace.
  void OnClockSet(int64_t ns);
  void OnConnected(size_t connection, int64_t now_ns);
  void OnDisconnected(size_t connection);
  void OnAnswer(size_t connection, const absl::StatusOr<Value>& answer, int64_t now_ns);
  // Asks the questions that are due. Returns when to call it next; kNever if that is only after the
  // next answer or connection.
  int64_t Poll(int64_t now_ns);

  // True if no question is due or unanswered.
  bool is_idle() const;
  const ClientSpec& spec() const { return spec_; }
  uint64_t answers() const { return answers_; }
  uint64_t errors() const { return errors_; }  // Excludes the errors of queries with allow_errors.
  ClientResult Result(int64_t now_ns) const;

 private:
  struct Connection {
    bool connected = false;
    // Has an unanswered question, perhaps from before the connection was lost.
    bool asking = false;
    bool counts = false;   // The question belongs to the measured run.
    size_t place = 0;      // Index of its query.
    int64_t since_ns = 0;  // Start of its measured time.
    std::string text;
    int64_t next_ns = 0;  // In a closed loop, the end of its think time.
  };
  struct Measured {
    explicit Measured(std::string name) : times(std::move(name)) {}
    Metric times;
    uint64_t errors = 0;
    std::string first_error;
    std::vector<QuerySlice> slices;
    Histogram slice{int64_t{1} << 42, 2};  // The current slice.
    int64_t slice_begin_ns = 0;
    uint64_t slice_errors = 0;
  };

  bool is_open() const { return spec_.mode == ClientSpec::Mode::kOpen; }
  void Ask(size_t connection, int64_t since_ns, int64_t now_ns);
  void Count(Connection& connection, const absl::StatusOr<Value>& answer, int64_t now_ns);
  static void CloseSlice(Measured& measured, int64_t next_begin_ns);

  const QuerySet& set_;
  ClientSpec spec_;
  QuestionSender* const sender_;
  QuestionTexts texts_;
  OpenSchedule schedule_;
  std::vector<Connection> connections_;
  // For an open loop: connections that are free, the longest free one first.
  std::deque<size_t> free_;
  std::vector<Measured> measured_;  // By place.
  bool running_ = false;
  int64_t begin_ns_ = 0;
  int64_t end_ns_ = kNever;
  uint64_t asked_ = 0, answers_ = 0, errors_ = 0, lost_ = 0;
};

}  // namespace tickstack::measure
