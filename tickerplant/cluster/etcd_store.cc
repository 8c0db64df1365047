#include "tickerplant/cluster/etcd_store.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "base/status.h"
#include "tickerplant/cluster/etcd_messages.h"

namespace tickstack::tickerplant {

// Runs requests on a thread of its own.
class EtcdStore::Worker {
 public:
  using Done = std::function<void(absl::StatusOr<std::string>)>;

  explicit Worker(std::unique_ptr<EtcdClient> client)
      : client_(std::move(client)), thread_([this] { Run(); }) {}
  ~Worker() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  // `done` is called on the worker's thread. False if there are too many requests.
  bool Ask(std::string_view path, std::string body, Done done) {
    {
      const std::lock_guard lock(mutex_);
      if (requests_.size() >= kRequestsMax) return false;
      requests_.push_back({std::string(path), std::move(body), std::move(done)});
    }
    changed_.notify_all();
    return true;
  }
  const std::string& key() const { return client_->key(); }

 private:
  struct Request {
    std::string path;
    std::string body;
    Done done;
  };

  void Run() {
    while (true) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stop_ || !requests_.empty(); });
      if (stop_) break;
      const Request request = std::move(requests_.front());
      requests_.pop_front();
      lock.unlock();
      request.done(client_->Post(request.path, request.body));
    }
  }

  const std::unique_ptr<EtcdClient> client_;  // The thread's.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Request> requests_;  // Guarded by mutex_.
  bool stop_ = false;             // Guarded by mutex_.
  std::thread thread_;            // Last: it uses everything above.
};

absl::StatusOr<std::unique_ptr<EtcdStore>> EtcdStore::Open(wire::EventLoop& loop,
                                                           EtcdOptions options) {
  TS_ASSIGN_OR_RETURN(std::unique_ptr<EtcdClient> client, EtcdClient::Open(std::move(options)));
  return std::unique_ptr<EtcdStore>(
      new EtcdStore(loop, std::make_unique<Worker>(std::move(client))));
}

EtcdStore::EtcdStore(wire::EventLoop& loop, std::unique_ptr<Worker> worker)
    : loop_(loop), worker_(std::move(worker)) {}

EtcdStore::~EtcdStore() { worker_ = nullptr; }

void EtcdStore::Read(std::function<void(absl::StatusOr<Record>)> done) {
  const auto finish = [this, done,
                       alive = std::weak_ptr(alive_)](const absl::StatusOr<std::string>& answer) {
    absl::StatusOr<Record> record =
        answer.ok() ? etcd::ParseRange(*answer) : absl::StatusOr<Record>(answer.status());
    loop_.Post([done, alive, record = std::move(record)] {
      if (!alive.expired()) done(record);
    });
  };
  if (!worker_->Ask("/v3/kv/range", etcd::RangeRequest(worker_->key()), finish)) {
    finish(ResourceExhausted("etcd: {} requests wait", kRequestsMax));
  }
}

void EtcdStore::Write(uint64_t revision, std::string value,
                      std::function<void(absl::StatusOr<Written>)> done) {
  std::string body = etcd::SwapRequest(worker_->key(), revision, value);
  const auto finish = [this, done, value,
                       alive = std::weak_ptr(alive_)](const absl::StatusOr<std::string>& answer) {
    absl::StatusOr<Written> written =
        answer.ok() ? etcd::ParseSwap(*answer, value) : absl::StatusOr<Written>(answer.status());
    loop_.Post([done, alive, written = std::move(written)] {
      if (!alive.expired()) done(written);
    });
  };
  if (!worker_->Ask("/v3/kv/txn", std::move(body), finish)) {
    finish(ResourceExhausted("etcd: {} requests wait", kRequestsMax));
  }
}

}  // namespace tickstack::tickerplant
