#pragma once

// The pages for monitoring systems that every process serves on its port. HTTP's thread makes them.
//
//   GET /metrics   statistics in Prometheus' text format
//   GET /healthz   200 if the process's event loops respond, else 503
//   GET /readyz    200 if the process is ready, else 503 and a line for each reason; without the
//                  right to read metrics, the number of reasons, since they name tables
//   GET /events    statistics as JSON, about once a second (event_hub.h)
//
//   HTTP's thread   Ask ------.                         .--> render the page, respond
//   process's loop            '--> Collect: copy numbers'
//
// The process's loop only copies its statistics, which takes some microseconds. HTTP's thread makes
// the page's text, and asks the kernel about files if necessary. If the loop does not answer in
// time, every page has status 503 and says so.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "absl/status/statusor.h"
#include "table/value.h"
#include "wire/event_loop.h"
#include "wire/page_files.h"

namespace tickstack::wire {

enum class StatusPage : uint8_t {
  kMetrics,
  kAlive,
  kReady,
  kEvent,
  kFirstEvent,  // An event with the process's history, for a new listener. Has no target.
};

// Returns the page for a request's target, whose query is ignored; nullopt for other targets.
std::optional<StatusPage> StatusPageAt(std::string_view target);
std::string_view ContentTypeOf(StatusPage page);

// Before it serves /metrics, the gateway sends this symbol to the server. The answer is an error if
// the client may not read metrics. The process does not see the request.
inline constexpr std::string_view kMetricsQuestion = "/metrics";

struct StatusReply {
  bool ok = true;  // False: the response has status 503, not 200.
  std::string text;
  std::string public_text = {};  // For clients that may not read `text`; empty: all may.
};

// Implemented by a process: provides its statistics for the pages.
class StatusSource {
 public:
  using Render = std::function<StatusReply()>;
  virtual ~StatusSource() = default;
  // Returns a table as a Parquet file; wire does not know its format. kInvalidArgument for a value
  // that the format cannot have. Called on HTTP's thread.
  virtual absl::StatusOr<std::string> FormatParquet(const Value& table) const;
  // Files that are served as they are; they outlive the server. Called on HTTP's thread.
  virtual std::span<const PageFile> Files() const { return {}; }
  // Called on the loop of the process's server, so rows wait until it returns. Returns a function
  // that renders the page. This function is called on another thread, and may refer only to objects
  // that outlive the server.
  virtual Render Collect(StatusPage page) = 0;
};

// Requests pages from a process. Threads: the loop of HTTP. Close it before the source is
// destroyed.
class StatusDesk {
 public:
  using Done = std::function<void(StatusReply)>;
  // After this time, a loop without an answer counts as one that does not respond.
  static constexpr std::chrono::milliseconds kAnswerWithin{2'000};

  // `source` is nullptr if the process has no such pages.
  StatusDesk(EventLoop& loop, StatusSource* source, EventLoop* process_loop);
  ~StatusDesk();
  StatusDesk(const StatusDesk&) = delete;
  StatusDesk& operator=(const StatusDesk&) = delete;

  bool has_pages() const { return source_ != nullptr && process_loop_ != nullptr; }
  std::span<const PageFile> files() const {
    return source_ == nullptr ? std::span<const PageFile>() : source_->Files();
  }
  absl::StatusOr<std::string> FormatParquet(const Value& table) const;
  // Calls `done` once, on the loop, unless the desk is closed first.
  void Ask(StatusPage page, Done done);
  // Drops all questions. Their `done` is not called.
  void Close();

 private:
  // Shared with tasks on the process's loop, which may run after the desk is closed.
  struct Mailbox {
    std::mutex mutex;
    StatusDesk* desk;  // Guarded by mutex; nullptr after Close.
  };
  struct Question {
    Question(EventLoop& loop, Done when_done) : timer(loop), done(std::move(when_done)) {}
    Timer timer;
    Done done;
  };
  static void Collect(const std::shared_ptr<Mailbox>& mailbox, uint64_t number, StatusPage page);
  void Finish(uint64_t number, const StatusSource::Render& render);

  EventLoop& loop_;
  StatusSource* const source_;
  EventLoop* const process_loop_;
  const std::shared_ptr<Mailbox> mailbox_;
  std::unordered_map<uint64_t, std::unique_ptr<Question>> questions_;
  uint64_t last_ = 0;  // Number of the newest question.
};

}  // namespace tickstack::wire
