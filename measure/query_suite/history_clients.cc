#include "measure/query_suite/history_clients.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "base/time.h"
#include "wire/client.h"
#include "wire/event_loop.h"

namespace tickstack::measure::query_suite {
namespace {

using namespace std::chrono_literals;

constexpr auto kCheckInterval = 100ms;

// One connection, which is made once.
class HistoryClient final : public wire::ClientHandler {
 public:
  HistoryClient(wire::EventLoop& loop, const wire::Address& address)
      : client_(loop, address, Options(), this) {}

  bool is_connected() const { return client_.connection() != nullptr; }
  const absl::Status& status() const { return status_; }  // An error: no connection any more.

  // Sends the question and calls `done` with its answer; before it returns, if there is no
  // connection.
  void Ask(const Value& question, const wire::Connection::ResponseCallback& done) {
    wire::Connection* const connection = client_.connection();
    if (connection == nullptr) return done(status_);
    connection->Call(question, done);
  }

  void OnConnected(wire::Connection&) override {}
  void OnConnectFailed(const absl::Status& why, std::chrono::milliseconds) override {
    status_ = why;
  }
  void OnMessage(wire::Connection&, const wire::ReceivedMessage&) override {}
  void OnClosed(wire::Connection&, const absl::Status& why) override {
    status_ = Unavailable("connection lost: {}", why.ok() ? "the hdb closed it" : Message(why));
  }

 private:
  static wire::ClientOptions Options() {
    wire::ClientOptions options;
    options.connection.max_message_bytes = size_t{4} << 30;
    options.reconnect = false;
    return options;
  }

  absl::Status status_;
  wire::Client client_;
};

}  // namespace

struct HistoryClients::Impl {
  // What a round in progress needs.
  struct Round {
    std::span<const std::string> questions;
    std::vector<Value>& answers;
    AnswerTimes times;
    absl::Status status;
    int64_t begin_ns = 0;
    int64_t end_ns = 0;  // No question is asked after it.
    size_t waiting = 0;  // Questions without an answer.
  };

  absl::Status RunUntil(const std::function<bool()>& done);
  void AskOnce(size_t client);
  void OnAnswer(size_t client, int64_t asked_ns, absl::StatusOr<Value> answer);

  Check check;
  wire::EventLoop loop;
  std::vector<std::unique_ptr<HistoryClient>> clients;
  std::optional<Round> round;
};

absl::Status HistoryClients::Impl::RunUntil(const std::function<bool()>& done) {
  while (!loop.RunUntil(done, kCheckInterval)) {
    TS_RETURN_IF_ERROR(check());
    for (const auto& client : clients) TS_RETURN_IF_ERROR(client->status());
  }
  return absl::OkStatus();
}

void HistoryClients::Impl::AskOnce(size_t client) {
  ++round->waiting;
  const int64_t asked_ns = MonotonicNs();
  clients[client]->Ask(Value::String(round->questions[client]),
                       [this, client, asked_ns](absl::StatusOr<Value> answer) {
                         OnAnswer(client, asked_ns, std::move(answer));
                       });
}

void HistoryClients::Impl::OnAnswer(size_t client, int64_t asked_ns, absl::StatusOr<Value> answer) {
  if (!round) return;  // The round ended by an error, and this is a late answer.
  const int64_t now_ns = MonotonicNs();
  --round->waiting;
  if (!round->status.ok()) return;
  if (!answer.ok()) {
    round->status = Annotate(answer.status(), fmt::format("client {}", client + 1));
    return;
  }
  round->times.ns.Record(now_ns - asked_ns);
  round->times.elapsed_ns = now_ns - round->begin_ns;
  Value& expected = round->answers[client];
  if (expected.is_error()) {
    expected = *std::move(answer);
  } else if (!(expected == *answer)) {
    round->status = DataLoss("client {}: its answer differs from the one before", client + 1);
    return;
  }
  if (now_ns < round->end_ns) AskOnce(client);
}

HistoryClients::HistoryClients(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HistoryClients::~HistoryClients() = default;

absl::StatusOr<std::unique_ptr<HistoryClients>> HistoryClients::Connect(
    const wire::Address& address, size_t count, Check check) {
  auto impl = std::make_unique<Impl>();
  impl->check = std::move(check);
  for (size_t i = 0; i < count; ++i) {
    impl->clients.push_back(std::make_unique<HistoryClient>(impl->loop, address));
  }
  TS_RETURN_IF_ERROR(impl->RunUntil([&clients = impl->clients] {
    return std::ranges::all_of(clients, [](const auto& client) { return client->is_connected(); });
  }));
  return std::unique_ptr<HistoryClients>(new HistoryClients(std::move(impl)));
}

absl::StatusOr<AnswerTimes> HistoryClients::Ask(std::span<const std::string> questions,
                                                double seconds, std::vector<Value>& answers) {
  TS_CHECK(questions.size() == impl_->clients.size() && answers.size() >= questions.size());
  Impl& impl = *impl_;
  const int64_t begin_ns = MonotonicNs();
  impl.round.emplace(Impl::Round{.questions = questions,
                                 .answers = answers,
                                 .times = {},
                                 .status = {},
                                 .begin_ns = begin_ns,
                                 .end_ns = begin_ns + static_cast<int64_t>(seconds * 1e9)});
  for (size_t client = 0; client < questions.size(); ++client) impl.AskOnce(client);
  absl::Status status = impl.RunUntil([&impl] { return impl.round->waiting == 0; });
  if (status.ok()) status = impl.round->status;
  AnswerTimes times = std::move(impl.round->times);
  impl.round.reset();
  TS_RETURN_IF_ERROR(status);
  return times;
}

}  // namespace tickstack::measure::query_suite
