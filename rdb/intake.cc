#include "rdb/intake.h"

#include <chrono>
#include <utility>

namespace tickstack::rdb {
namespace {

using namespace std::chrono_literals;

constexpr auto kIdleCommits = 200ms;  // Commits pending rows after this time without messages.

}  // namespace

Intake::Intake(wire::EventLoop& loop, tplog::SubscriberOptions options, Rdb* rdb)
    : loop_(loop), options_(std::move(options)), rdb_(rdb) {}

void Intake::Start() {
  subscriber_ = std::make_unique<tplog::Subscriber>(loop_, options_, rdb_);
  if (rdb_->durable() == nullptr) return;
  idle_.emplace(loop_);
  idle_->Every(kIdleCommits, [rdb = rdb_] { rdb->OnIdle(); });
}

void Intake::Stop() {
  idle_.reset();
  subscriber_ = nullptr;
  rdb_->counters().connected.store(0, std::memory_order_relaxed);
  rdb_->counters().live.store(0, std::memory_order_relaxed);
}

}  // namespace tickstack::rdb
