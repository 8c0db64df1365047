#pragma once

// The election store in etcd 3.4 or newer: one key, over etcd's JSON gateway (/v3/kv/range and
// /v3/kv/txn). Every read and write passes etcd's quorum, so an answer is never of an old leader of
// etcd.
//
// Threads: the loop's. Requests run one after another on a thread of its own, so a slow etcd blocks
// nothing else. At most kRequestsMax wait; a further one fails with kResourceExhausted.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tickerplant/cluster/election_store.h"
#include "tickerplant/cluster/etcd_client.h"
#include "wire/event_loop.h"

namespace tickstack::tickerplant {

class EtcdStore final : public ElectionStore {
 public:
  static constexpr size_t kRequestsMax = 16;

  // Does not connect. Errors: those of EtcdClient::Open.
  static absl::StatusOr<std::unique_ptr<EtcdStore>> Open(wire::EventLoop& loop,
                                                         EtcdOptions options);
  // Waits for the request that runs, at most its timeout and a login's. Its callback is not called.
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

}  // namespace tickstack::tickerplant
