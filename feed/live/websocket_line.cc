#include "feed/live/websocket_line.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/logging.h"
#include "base/printable.h"
#include "base/status.h"
#include "base/time.h"

namespace tickstack::feed::live {
namespace {

// What a record takes besides its text.
constexpr size_t kRecordBytes = sizeof(LineRecord) + 64;

size_t BytesOf(const LineRecord& record) {
  return record.text.size() + record.address.size() + kRecordBytes;
}

}  // namespace

struct WebsocketLine::Worker {
  explicit Worker(WebsocketLine& owner) : line(owner), pause(owner.loop_) {}

  // Makes the next request, unless one is under way, or was a moment ago.
  void RequestNext() {
    if (is_waiting || requests.empty()) return;
    is_waiting = true;
    fetch.emplace(line.loop_, requests.front(), line.options_.tls, wire::WebFetch::Options(),
                  [this](absl::StatusOr<std::string> body) { OnAnswer(std::move(body)); });
  }
  void OnAnswer(absl::StatusOr<std::string> body) {
    LineRecord record;
    record.address = requests.front().ToString();
    if (body.ok()) {
      record.kind = LineRecord::Kind::kAnswer;
      record.text = *std::move(body);
      // Files of recordings have an answer on a line.
      std::ranges::replace(record.text, '\n', ' ');
    } else {
      record.kind = LineRecord::Kind::kNoAnswer;
      record.text = Message(body.status());
      LogWarn("no answer error=\"{}\"", Printable(record.text));
    }
    requests.pop_front();
    line.Push(std::move(record));
    pause.Once(kRequestPause, [this] {
      is_waiting = false;
      RequestNext();
    });
  }
  // An answer would be older than the next connection.
  void ForgetRequests() {
    requests.clear();
    fetch.reset();
    pause.Cancel();
    is_waiting = false;
  }

  WebsocketLine& line;
  std::optional<wire::WebSocketClient> client;
  std::deque<wire::WebAddress> requests;
  std::optional<wire::WebFetch> fetch;
  wire::Timer pause;  // Between requests.
  bool is_waiting = false;
};

WebsocketLine::WebsocketLine(WebsocketLineOptions options)
    : options_(std::move(options)),
      ready_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      worker_(std::make_unique<Worker>(*this)) {}

absl::StatusOr<std::unique_ptr<WebsocketLine>> WebsocketLine::Create(WebsocketLineOptions options) {
  std::unique_ptr<WebsocketLine> line(new WebsocketLine(std::move(options)));
  if (!line->ready_.is_open()) return ErrnoStatus(errno, "eventfd");
  return line;
}

WebsocketLine::~WebsocketLine() {
  if (!thread_.joinable()) return;
  loop_.Stop();
  thread_.join();
}

void WebsocketLine::Start() {
  thread_ = std::thread([this] { Run(); });
}

void WebsocketLine::Run() {
  worker_->client.emplace(loop_, options_.address, options_.tls, options_.client,
                          static_cast<wire::WebSocketClientHandler*>(this));
  loop_.Run();
  worker_->ForgetRequests();
  worker_->client.reset();
}

// ---- the thread

void WebsocketLine::Push(LineRecord record) {
  record.recv_ns = SystemClock::Instance().NowNs();
  const std::lock_guard lock(mutex_);
  if (is_closed_) return;
  queue_bytes_ += BytesOf(record);
  queue_.push_back(std::move(record));
  if (queue_.size() == 1) {
    const uint64_t one = 1;
    (void)!write(ready_.get(), &one, sizeof(one));
  }
  if (queue_bytes_ < options_.queue_bytes_max || std::exchange(is_full_, true)) return;
  worker_->client->PauseReading();
}

void WebsocketLine::OnConnected() {
  LogInfo("connected line={}", options_.address.Name());
  worker_->ForgetRequests();
  Push({.kind = LineRecord::Kind::kConnected});
}

void WebsocketLine::OnMessage(std::string_view message) {
  Push({.kind = LineRecord::Kind::kMessage, .text = std::string(message)});
}

void WebsocketLine::OnClosed(bool was_connected, const absl::Status& why,
                             std::chrono::milliseconds pause) {
  LogWarn("{} line={} error=\"{}\" pause_ms={}",
          was_connected ? "connection lost" : "no connection", options_.address.Name(),
          Printable(Message(why)), pause.count());
  worker_->ForgetRequests();
  Push({.kind = was_connected ? LineRecord::Kind::kClosed : LineRecord::Kind::kNotConnected,
        .text = std::string(Message(why))});
}

// ---- the owner

bool WebsocketLine::Receive(const OnRecord& on_record) {
  bool has_all = true, resumes = false;
  {
    const std::lock_guard lock(mutex_);
    while (!queue_.empty() && taken_.size() < kBatchRecords) {
      queue_bytes_ -= BytesOf(queue_.front());
      taken_.push_back(std::move(queue_.front()));
      queue_.pop_front();
    }
    has_all = queue_.empty();
    if (has_all) {
      uint64_t ignored = 0;
      (void)!read(ready_.get(), &ignored, sizeof(ignored));
    }
    if (is_full_ && queue_bytes_ < options_.queue_bytes_max / 2) {
      is_full_ = false;
      resumes = true;
    }
  }
  if (resumes) loop_.Post([this] { worker_->client->ResumeReading(); });
  // A record may make the owner suspend the line, which forgets the rest.
  while (!taken_.empty()) {
    const LineRecord record = std::move(taken_.front());
    taken_.pop_front();
    on_record(record);
  }
  return has_all;
}

void WebsocketLine::Reconnect(const absl::Status& why) {
  loop_.Post([this, why] { worker_->client->Reconnect(why); });
}

void WebsocketLine::Suspend() {
  if (std::exchange(is_suspended_, true)) return;
  taken_.clear();
  {
    const std::lock_guard lock(mutex_);
    queue_.clear();
    queue_bytes_ = 0;
    is_closed_ = true;
    uint64_t ignored = 0;
    (void)!read(ready_.get(), &ignored, sizeof(ignored));
  }
  loop_.Post([this] {
    worker_->ForgetRequests();
    worker_->client->Suspend();
  });
}

void WebsocketLine::Resume() {
  if (!std::exchange(is_suspended_, false)) return;
  // What the thread still pushes from here on may be of the old connection; Suspend was posted
  // before, so the next kConnected is not.
  loop_.Post([this] {
    {
      const std::lock_guard lock(mutex_);
      is_closed_ = false;
      is_full_ = false;
    }
    worker_->client->ResumeReading();
    worker_->client->Resume();
  });
}

void WebsocketLine::Request(wire::WebAddress address) {
  loop_.Post([this, address = std::move(address)]() mutable {
    worker_->requests.push_back(std::move(address));
    worker_->RequestNext();
  });
}

}  // namespace tickstack::feed::live
