#pragma once

// The election store in etcd 3.4 or newer: one key, over etcd's JSON gateway (/v3/kv/range and
// /v3/kv/txn). Every read and write passes etcd's quorum, so an answer is never of an old leader of
// etcd.
//
// Threads: the loop's. Requests run one after another on a thread of its own, so a slow etcd blocks
// nothing else. At most kRequestsMax wait; a further one fails with kResourceExhausted.

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tickerplant/election_store.h"
#include "wire/event_loop.h"

namespace tickstack::tickerplant {

struct EtcdOptions {
  // URLs of etcd's members, such as `http://10.0.0.1:2379`. The next one is asked when one does not
  // answer.
  std::vector<std::string> endpoints;
  std::string key;
  std::chrono::milliseconds timeout{150};  // Limit for one request to one member.
};

class EtcdStore final : public ElectionStore {
 public:
  static constexpr size_t kRequestsMax = 16;

  // Does not connect. kInvalidArgument without endpoints, or for one that is no URL of HTTP or
  // HTTPS.
  static absl::StatusOr<std::unique_ptr<EtcdStore>> Open(wire::EventLoop& loop,
                                                         EtcdOptions options);
  // Waits for the request that runs, at most its timeout. Its callback is not called.
  ~EtcdStore() override;

  void Read(std::function<void(absl::StatusOr<Record>)> done) override;
  void Write(uint64_t revision, std::string value,
             std::function<void(absl::StatusOr<Written>)> done) override;

 private:
  class Worker;
  EtcdStore(wire::EventLoop& loop, std::unique_ptr<Worker> worker);

  wire::EventLoop& loop_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  std::unique_ptr<Worker> worker_;
};

// The bodies of etcd's requests and answers, for the store and its tests.
namespace etcd {
std::string RangeRequest(std::string_view key);
std::string SwapRequest(std::string_view key, uint64_t revision, std::string_view value);
// kInvalidArgument if the answer has another form.
absl::StatusOr<ElectionStore::Record> ParseRange(std::string_view answer);
absl::StatusOr<ElectionStore::Written> ParseSwap(std::string_view answer, std::string_view value);
}  // namespace etcd

}  // namespace tickstack::tickerplant
