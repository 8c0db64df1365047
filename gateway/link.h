#pragma once

// A connection to one process, which asks it one question at a time.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "table/answer_sink.h"
#include "table/value.h"
#include "wire/address.h"
#include "wire/client.h"
#include "wire/event_loop.h"

namespace tickstack::gateway {

struct LinkOptions {
  int64_t connect_ns = 1'000'000'000;  // Time in which a connection must be established.
  // A new connection first sends this question. If its answer is not the boolean true, the
  // connection is not used. A text as answer is the error. nullopt: a connection is used at once.
  std::optional<Value> ready_question{};
  size_t max_message_bytes = size_t{1} << 30;
};

// Threads: the loop's.
class Link final : public wire::ClientHandler {
 public:
  Link(wire::EventLoop& loop, wire::Address address, const LinkOptions& options)
      : loop_(loop), address_(std::move(address)), options_(options) {}
  ~Link() override { Stop(); }

  // Sends a question, which must live until its answer is taken. Connects if there is no
  // connection. No question may be under way. `sink`, if it is not nullptr, must live as long, and
  // may take the answer (table/answer_sink.h).
  void Send(const Value& question, AnswerSink* sink);
  bool asks() const { return question_ != nullptr; }  // A question waits for its answer.
  bool has_answer() const { return answer_.has_value(); }
  // Returns the answer, which must be there. kUnavailable: the connection was lost, or could not be
  // made; any other error is that of the question.
  absl::StatusOr<Value> TakeAnswer();
  // True if the last question reached a connection: the other process may have evaluated it.
  bool was_sent() const { return was_sent_; }
  // True if the last question was sent over the connection of an earlier one.
  bool was_reused() const { return was_reused_; }
  int64_t sent_ns() const { return sent_ns_; }  // When Send was called, on the steady clock.
  // How long the last answer, or the news that there is none, took; 0: there was none.
  int64_t round_trip_ns() const { return round_trip_ns_; }
  // Ends the connection, and forgets the question and its answer.
  void Stop();

 private:
  void Call(wire::Connection& connection);
  void OnReady(const absl::StatusOr<Value>& answer);
  void Settle(absl::StatusOr<Value> given);
  void Fail(absl::Status why);

  void OnConnected(wire::Connection& connection) override;
  void OnMessage(wire::Connection&, const wire::ReceivedMessage&) override {}
  void OnClosed(wire::Connection&, const absl::Status& why) override;
  void OnConnectFailed(const absl::Status& why, std::chrono::milliseconds) override;

  wire::EventLoop& loop_;
  const wire::Address address_;
  const LinkOptions options_;
  std::unique_ptr<wire::Client> client_;
  const Value* question_ = nullptr;
  AnswerSink* sink_ = nullptr;
  std::optional<absl::StatusOr<Value>> answer_;
  int64_t sent_ns_ = 0;
  int64_t round_trip_ns_ = 0;
  bool was_sent_ = false;
  bool was_reused_ = false;
  bool is_ready_ = false;  // The connection may be used.
  bool is_lost_ = false;   // The connection ended: the next question needs another one.
};

int64_t SteadyNs();

}  // namespace tickstack::gateway
