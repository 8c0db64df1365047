#include "gateway/link.h"

#include <chrono>
#include <utility>

#include "base/status.h"

namespace tickstack::gateway {

using std::chrono::nanoseconds;

int64_t SteadyNs() { return std::chrono::steady_clock::now().time_since_epoch() / nanoseconds(1); }

void Link::Send(const Value& question, AnswerSink* sink) {
  if (is_lost_) Stop();
  answer_.reset();
  question_ = &question;
  sink_ = sink;
  sent_ns_ = SteadyNs();
  was_sent_ = false;
  was_reused_ = client_ != nullptr && is_ready_;
  if (client_ != nullptr) {
    // Otherwise OnConnected sends it.
    if (is_ready_) Call(*client_->connection());
    return;
  }
  wire::ClientOptions how;
  how.connection.max_message_bytes = options_.max_message_bytes;
  how.user = "gateway";
  how.is_link = true;
  how.connect_timeout =
      std::chrono::duration_cast<std::chrono::milliseconds>(nanoseconds(options_.connect_ns));
  how.reconnect = false;
  client_ = std::make_unique<wire::Client>(loop_, address_, how, this);
}

void Link::Call(wire::Connection& connection) {
  was_sent_ = true;
  const auto done = [this](absl::StatusOr<Value> given) {
    if (absl::IsUnavailable(given.status())) return;  // OnClosed says why.
    Settle(std::move(given));
  };
  connection.Call(*question_, done, sink_);
}

void Link::Settle(absl::StatusOr<Value> given) {
  if (question_ == nullptr) return;
  question_ = nullptr;
  answer_ = std::move(given);
  round_trip_ns_ = SteadyNs() - sent_ns_;
}

void Link::Fail(absl::Status why) {
  Settle(std::move(why));
  is_ready_ = false;
  is_lost_ = true;
}

absl::StatusOr<Value> Link::TakeAnswer() {
  absl::StatusOr<Value> answer = *std::move(answer_);
  answer_.reset();
  return answer;
}

void Link::Stop() {
  question_ = nullptr;
  answer_.reset();
  client_.reset();
  is_ready_ = is_lost_ = false;
}

void Link::OnConnected(wire::Connection& connection) {
  if (!options_.ready_question) return OnReady(Value::Boolean(true));
  connection.Call(*options_.ready_question, [this](absl::StatusOr<Value> answer) {
    // OnClosed says why.
    if (!absl::IsUnavailable(answer.status())) OnReady(answer);
  });
}

void Link::OnReady(const absl::StatusOr<Value>& answer) {
  if (!answer.ok()) return Fail(Unavailable("{}", Message(answer.status())));
  const bool ready = answer->is_atom_of(Type::kBoolean) && answer->as<uint8_t>() == 1;
  if (!ready) {
    return Fail(Unavailable("{}", answer->is(Type::kChar) ? answer->text() : "it is not ready"));
  }
  is_ready_ = true;
  if (question_ != nullptr) Call(*client_->connection());
}

void Link::OnClosed(wire::Connection&, const absl::Status& why) {
  Fail(why.ok() ? Unavailable("the connection was closed") : Unavailable("{}", Message(why)));
}

void Link::OnConnectFailed(const absl::Status& why, std::chrono::milliseconds) {
  Fail(Unavailable("{}", Message(why)));
}

}  // namespace tickstack::gateway
