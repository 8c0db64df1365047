#include "tests/simulate/election_store.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/status.h"
#include "wire/event_loop.h"

namespace tickstack::simulate {

using Record = tickerplant::ElectionStore::Record;
using Written = tickerplant::ElectionStore::Written;

struct Store::Client::Call {
  explicit Call(wire::EventLoop& loop) : timer(loop) {}
  wire::Timer timer;
};

int64_t Store::Send(const Process& process, uint64_t lost_one_in, std::function<void()> function) {
  Random& random = world_.random();
  const int64_t now_ns = world_.MonotonicNs();
  int64_t at_ns = now_ns + random.Between(0, delay_ns_max_);
  if (lost_one_in > 0 && random.OneIn(lost_one_in)) return 0;
  const auto cut = cuts_.find(&process);
  const int64_t cut_until_ns = std::max(stopped_until_ns_, cut == cuts_.end() ? 0 : cut->second);
  if (cut_until_ns > now_ns) {
    if (random.OneIn(2)) return 0;
    at_ns = std::max(at_ns, cut_until_ns);  // It is sent again until then.
  }
  world_.At(at_ns, std::move(function));
  return at_ns;
}

void Store::CallOffTrouble() {
  lost_request_ = lost_answer_ = 0;
  stopped_until_ns_ = 0;
  delay_ns_max_ = 2'000'000;
  cuts_.clear();
}

int64_t Store::Client::Ask(std::function<std::function<void()>()> take,
                           std::function<void()> fail) {
  if (process_.is_dead()) return 0;
  auto call = std::make_shared<Call>(process_.loop());
  calls_.insert(call);
  // The client is gone if the call is.
  const auto end = [this, weak = std::weak_ptr(call)](const std::function<void()>& function) {
    const std::shared_ptr<Call> ended = weak.lock();
    if (ended == nullptr || calls_.erase(ended) == 0) return;
    process_.loop().Post([ended] {});  // Its timer may be the caller.
    function();
  };
  call->timer.Once(std::chrono::nanoseconds(timeout_ns_),
                   [end, fail = std::move(fail)] { end(fail); });
  const auto arrive = [this, weak = std::weak_ptr(call), end](const std::function<void()>& answer) {
    if (weak.expired()) return;
    process_.loop().Post([end, answer] { end(answer); });
  };
  Store& store = store_;
  const Process& process = process_;
  return store_.Send(
      process, store.lost_request_, [&store, &process, take = std::move(take), arrive] {
        store.Send(process, store.lost_answer_, [answer = take(), arrive] { arrive(answer); });
      });
}

void Store::Client::Read(std::function<void(absl::StatusOr<Record>)> done) {
  Ask([&store = store_,
       done]() -> std::function<void()> { return [done, now = store.record_] { done(now); }; },
      [done] { done(Unavailable("store: no answer in time")); });
}

void Store::Client::Write(uint64_t revision, std::string value,
                          std::function<void(absl::StatusOr<Written>)> done) {
  const int64_t at_ns = Ask(
      [&store = store_, revision, value = std::move(value), done]() -> std::function<void()> {
        const bool replaces = store.record_.revision == revision;
        if (replaces) store.record_ = {revision + 1, value};
        store.world_.Trace("store", store.record_.revision);
        return [done, written = Written{replaces, store.record_}] { done(written); };
      },
      [done] { done(Unavailable("store: no answer in time")); });
  store_.last_write_ns_ = std::max(store_.last_write_ns_, at_ns);
}

}  // namespace tickstack::simulate
