#include "tickerplant/publication.h"

#include <algorithm>
#include <utility>

namespace tickstack::tickerplant {

namespace {

void SendTo(std::span<Outlet* const> outlets, const ByteBuffer& message) {
  const auto shared = std::make_shared<ByteBuffer>(message.Clone());
  const wire::Segment segment{shared->span(), shared};
  for (Outlet* const outlet : outlets) {
    outlet->Queue({&segment, 1});
    outlet->Flush();
  }
}

}  // namespace

Publication::Publication(std::span<const Schema> schemas, PublicationOptions options)
    : options_(std::move(options)),
      batched_(schemas, /*keep_order=*/!options_.batch),
      eager_(schemas, /*keep_order=*/true) {}

void Publication::Subscribe(size_t table, const Subscription& subscription) {
  const bool asks = options_.batch && subscription.eager && subscription.numbered;
  const bool is_eager = asks || (options_.batch && options_.at_once[table]);
  (is_eager ? batched_ : eager_).Remove(subscription.outlet, table);
  (is_eager ? eager_ : batched_).Subscribe(table, subscription);
}

void Publication::Unsubscribe(const Outlet* outlet) {
  batched_.Remove(outlet);
  eager_.Remove(outlet);
}

std::vector<TableSubscription> Publication::Take(const Outlet* outlet) {
  std::vector<TableSubscription> taken;
  for (size_t table = 0; table < options_.at_once.size(); ++table) {
    for (const Publisher* publisher : {&batched_, &eager_}) {
      for (const Subscription& each : publisher->SubscriptionsOf(table)) {
        if (each.outlet == outlet) taken.push_back({table, each});
      }
    }
  }
  Unsubscribe(outlet);
  return taken;
}

void Publication::FindSlow(size_t queued_bytes, std::vector<Outlet*>& slow) const {
  for (const Publisher* publisher : {&batched_, &eager_}) {
    for (Outlet* const outlet : publisher->Outlets()) {
      if (outlet->queued_bytes() <= queued_bytes) continue;
      if (std::ranges::find(slow, outlet) == slow.end()) slow.push_back(outlet);
    }
  }
}

void Publication::Add(size_t table, const BatchView& batch,
                      const std::shared_ptr<const void>& owner) {
  batched_.Add(table, batch, owner);
  eager_.Add(table, batch, owner);
}

bool Publication::is_due() const {
  return !options_.batch || batched_.pending_bytes() >= options_.publish_bytes;
}

void Publication::PublishEager() { eager_.Publish(EagerNumber()); }

void Publication::Publish(uint64_t logged_seq) {
  PublishEager();  // Before its number changes.
  batched_.Publish(static_cast<int64_t>(logged_seq));
  published_seq_ = logged_seq;
}

void Publication::Broadcast(const ByteBuffer& message) { SendTo(Outlets(), message); }

std::vector<const Subscription*> Publication::SubscriptionsOf(size_t table) const {
  std::vector<const Subscription*> all;
  for (const Publisher* publisher : {&batched_, &eager_}) {
    for (const Subscription& each : publisher->SubscriptionsOf(table)) all.push_back(&each);
  }
  return all;
}

std::vector<Outlet*> Publication::Outlets() const {
  std::vector<Outlet*> all = batched_.Outlets();
  for (Outlet* const outlet : eager_.Outlets()) {
    if (std::ranges::find(all, outlet) == all.end()) all.push_back(outlet);
  }
  return all;
}

}  // namespace tickstack::tickerplant
