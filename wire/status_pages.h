#pragma once

// The pages for monitoring systems on the port of every process, and how HTTP's thread gets them.
//
//   GET /metrics   statistics in Prometheus' text format
//   GET /healthz   200 if the process lives and its loop responds, else 503
//   GET /readyz    200 if it does its work, else 503 and a line for each reason
//
//   HTTP's thread   Ask ------.                         .--> render the page, respond
//   process's loop            '--> Collect: copy numbers'
//
// The loop only copies its statistics, some microseconds of work. The page's text, and whatever
// asks the kernel about files, is made on HTTP's thread. A loop that does not answer in time is a
// page of its own: 503.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "wire/event_loop.h"

namespace tickstack::wire {

enum class StatusPage : uint8_t { kMetrics, kAlive, kReady };

// Returns the page at a request's target, without regard to its query; nullopt for other targets.
std::optional<StatusPage> StatusPageAt(std::string_view target);
std::string_view ContentTypeOf(StatusPage page);

// The symbol that the gateway asks the server before /metrics: the answer is an error if the client
// may not read them. The server answers, the process does not see it.
inline constexpr std::string_view kMetricsQuestion = "/metrics";

struct StatusReply {
  bool ok = true;  // False: the response has status 503.
  std::string text;
};

// A process's side of the pages.
class StatusSource {
 public:
  using Render = std::function<StatusReply()>;
  virtual ~StatusSource() = default;
  // Called on the loop of the process's server, whose rows wait meanwhile. Returns a function that
  // renders the page, which is called on another thread and may refer only to what outlives the
  // server.
  virtual Render Collect(StatusPage page) = 0;
};

// Asks a process for its pages. Threads: the loop of HTTP. Close it before the source is destroyed.
class StatusDesk {
 public:
  using Done = std::function<void(StatusReply)>;
  // A loop that has not answered after this time does not respond.
  static constexpr std::chrono::milliseconds kAnswerWithin{2'000};

  // `source` may be nullptr: the process has no such pages.
  StatusDesk(EventLoop& loop, StatusSource* source, EventLoop* process_loop);
  ~StatusDesk();
  StatusDesk(const StatusDesk&) = delete;
  StatusDesk& operator=(const StatusDesk&) = delete;

  bool has_pages() const { return source_ != nullptr && process_loop_ != nullptr; }
  // Calls `done` once, from the loop, unless the desk is closed first.
  void Ask(StatusPage page, Done done);
  // Forgets all questions. Answers that are under way are dropped.
  void Close();

 private:
  // Where the process's loop leaves its answers.
  struct Mailbox {
    std::mutex mutex;
    StatusDesk* desk;  // Guarded by mutex; nullptr: closed.
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
