#include "tests/simulate/gateway_asker.h"

#include <chrono>
#include <optional>

#include "wire/client.h"

namespace tickstack::simulate {
namespace {

wire::ClientOptions AskerOptions(const Process& process) {
  wire::ClientOptions options;
  options.user = process.name();
  options.longest_pause = std::chrono::milliseconds(200);
  return options;
}

class Asker final : public Program, public wire::ClientHandler {
 public:
  Asker(Process& process, int port, int64_t pause_ns_max, QuestionSource& source)
      : process_(process),
        random_(process.world().random()),
        pause_ns_max_(pause_ns_max),
        source_(source),
        timer_(process.loop()),
        client_(process.loop(), {"127.0.0.1", static_cast<uint16_t>(port), ""},
                AskerOptions(process), this) {}
  ~Asker() override {
    if (waiting_) source_.OnLost(*waiting_);
  }

  void OnConnected(wire::Connection&) override { AskLater(); }
  void OnMessage(wire::Connection&, const wire::ReceivedMessage&) override {}
  void OnClosed(wire::Connection&, const absl::Status&) override {
    timer_.Cancel();
    if (!waiting_) return;
    source_.OnLost(*waiting_);
    waiting_.reset();
  }

 private:
  void AskLater() {
    timer_.Once(std::chrono::nanoseconds(random_.Between(0, pause_ns_max_)), [this] { Ask(); });
  }

  void Ask() {
    wire::Connection* const connection = client_.connection();
    if (connection == nullptr) return;
    size_t number = 0;
    const std::string text = source_.Ask(process_, &number);
    waiting_ = number;
    connection->Call(Value::String(text), [this, number](const absl::StatusOr<Value>& answer) {
      // OnClosed follows.
      if (!answer.ok() && absl::IsUnavailable(answer.status())) return;
      waiting_.reset();
      source_.OnAnswer(number, answer);
      AskLater();
    });
  }

  Process& process_;
  Random& random_;
  const int64_t pause_ns_max_;
  QuestionSource& source_;
  std::optional<size_t> waiting_;  // The question that has no answer yet.
  wire::Timer timer_;
  wire::Client client_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Program>> StartAsker(Process& process, int port,
                                                    int64_t pause_ns_max, QuestionSource& source) {
  return std::make_unique<Asker>(process, port, pause_ns_max, source);
}

}  // namespace tickstack::simulate
