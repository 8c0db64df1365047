#pragma once

// Receives the messages of an exchange by a websocket, and answers to requests by HTTP, as records
// like those of a recording.
//
//   thread: WebSocketClient, WebFetch --> queue --> Receive: owner
//           <------------------ posted functions ---
//
// A thread of its own runs the connections, since a name is resolved by a call that blocks, and so
// that times of receipt do not wait for the owner. The queue is bounded: while it is full, the
// thread does not read, so the server has to wait.
//
// Order: all records of a connection follow its kConnected, in the order of receipt. Nothing of an
// earlier connection follows that, nor an answer to a request that was made before it.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/owned_fd.h"
#include "wire/event_loop.h"
#include "wire/web_client.h"

namespace tickstack::feed::live {

struct WebsocketLineOptions {
  wire::WebAddress address;
  wire::WebSocketClientOptions client;
  std::shared_ptr<const wire::TlsClientContext> tls;  // Of wss and https.
  size_t queue_bytes_max = size_t{64} << 20;
};

struct LineRecord {
  enum class Kind {
    kConnected,
    kMessage,
    kAnswer,        // To a request: `address` is that of the request.
    kClosed,        // The connection was lost; `text` is the reason.
    kNotConnected,  // It could not be made.
    kNoAnswer,      // To a request.
  };
  Kind kind = Kind::kMessage;
  int64_t recv_ns = 0;  // In ns since 2000.
  std::string text{};
  std::string address{};
};

// Threads: one owner, but for the functions of its own thread.
class WebsocketLine final : private wire::WebSocketClientHandler {
 public:
  static constexpr size_t kBatchRecords = 256;  // Taken by one call of Receive.
  using OnRecord = std::function<void(const LineRecord& record)>;

  // kInternal if the system has no descriptor.
  static absl::StatusOr<std::unique_ptr<WebsocketLine>> Create(WebsocketLineOptions options);
  // Waits for the thread, which may be resolving a name.
  ~WebsocketLine() override;

  // Starts the thread, which connects. Called once.
  void Start();
  // Becomes readable when there is a record. Valid as long as this object.
  int fd() const { return ready_.get(); }
  // Takes up to kBatchRecords. Returns true if it took everything that was there.
  bool Receive(const OnRecord& on_record);

  // Makes another connection, unless none is there. Also ends the requests.
  void Reconnect(const absl::Status& why);
  // Closes the connection, forgets what was not taken, and makes no other one until Resume.
  void Suspend();
  void Resume();
  // Makes a request. Requests are made one after the other, kRequestPause apart.
  void Request(wire::WebAddress address);

  const wire::WebAddress& address() const { return options_.address; }

 private:
  static constexpr std::chrono::milliseconds kRequestPause{500};
  struct Worker;  // What the thread has.

  explicit WebsocketLine(WebsocketLineOptions options);
  void Run();
  void Push(LineRecord record);
  // WebSocketClientHandler, on the thread:
  void OnConnected() override;
  void OnMessage(std::string_view message) override;
  void OnClosed(bool was_connected, const absl::Status& why,
                std::chrono::milliseconds pause) override;

  const WebsocketLineOptions options_;
  OwnedFd ready_;
  wire::EventLoop loop_;            // Run by the thread.
  std::unique_ptr<Worker> worker_;  // Used by the thread.
  std::thread thread_;
  bool is_suspended_ = false;  // The owner's.
  std::deque<LineRecord> taken_;

  std::mutex mutex_;
  // Guarded by mutex_:
  std::deque<LineRecord> queue_;
  size_t queue_bytes_ = 0;
  bool is_full_ = false;    // The thread does not read.
  bool is_closed_ = false;  // Nothing is taken: suspended.
};

}  // namespace tickstack::feed::live
