#pragma once

// When the rows of a subscription are published: in batches, or eagerly.
//
// Batches spare subscribers work. A subscriber that is woken once per interval, for the rows of the
// whole interval, takes them much faster than row by row, and it sees them half an interval later
// on average. Two kinds of rows should not wait:
//
//   - Rows of derived tables, such as bars. The rows that they are made of were published already,
//     and a second wait would only make the bars older.
//   - Rows for a subscriber that derives data, such as the aggregation engine. Nobody looks at rows
//     there. If it takes rows all the time, it is done when others get the batch; if it took them
//     with the batch, it would work when every subscriber of the machine works.
//
// So a subscription, which is one subscriber's interest in one table, is eager if the table is one
// of `at_once`, or if the subscriber asks for it (`.u.subx` with `ahead). Eager rows are published
// as soon as they are logged, whatever else is pending:
//
//   log        0   1   2   3 | 4   5   6   7 | 8 ...
//   batches                  ^ number 4      ^ number 8
//   eager      ^   ^   ^   ^   ^   ^   ^   ^
//              number -1 = -1-0, then -5 = -1-4: the number of the last batch, complemented
//
// The negative number tells a subscriber with numbered upds that the rows belong to messages after
// that batch (tplog/position.h). This requires only that each table's rows are published in the
// order of the log, so a subscriber may have eager subscriptions beside others.
//
// Without batches every row is published as soon as it is logged, in the order of the log, and no
// subscription is eager.
//
// A batch is published before its time if it has become large (`publish_bytes`), or if somebody
// subscribes or asks for a position.
//
// Threads: one owner.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "table/batch.h"
#include "table/schema.h"
#include "tickerplant/publisher.h"

namespace tickstack::tickerplant {

struct PublicationOptions {
  bool batch = true;
  std::vector<bool> at_once;               // By table.
  size_t publish_bytes = size_t{1} << 20;  // Pending bytes that are published before the timer.
};

// A subscription and its table.
struct TableSubscription {
  size_t table = 0;
  Subscription subscription;
};

class Publication {
 public:
  // `schemas` must outlive this; tables are identified by their index in it.
  Publication(std::span<const Schema> schemas, PublicationOptions options);

  // Replaces the outlet's subscription to this table. Nothing may be pending. `subscription.eager`
  // has an effect only on numbered subscriptions.
  void Subscribe(size_t table, const Subscription& subscription);
  void Unsubscribe(const Outlet* outlet);
  // Removes an outlet, and returns its subscriptions. Nothing may be pending.
  std::vector<TableSubscription> Take(const Outlet* outlet);
  // Appends the outlets with more unsent bytes than this to `slow`, each once. Cost: O(outlets).
  void FindSlow(size_t queued_bytes, std::vector<Outlet*>& slow) const;

  // Adds rows that have just been logged, as Publisher::Add.
  void Add(size_t table, const BatchView& batch, const std::shared_ptr<const void>& owner);
  // True if the rows that were added must not wait for the timer.
  bool is_due() const;

  void PublishEager();
  // Publishes everything; the log has `logged_seq` messages.
  void Publish(uint64_t logged_seq);

  // Sends a message to each subscriber once. `message` has a frame.
  void Broadcast(const ByteBuffer& message);

  // Number of the log's messages that have been published.
  uint64_t published_seq() const { return published_seq_; }
  void set_published_seq(uint64_t seq) { published_seq_ = seq; }  // For a log just opened.

  std::vector<const Subscription*> SubscriptionsOf(size_t table) const;
  std::vector<Outlet*> Outlets() const;  // Each once.
  // Returns an upper bound on the number of outlets. Cost: O(1).
  size_t outlets_max() const { return batched_.Outlets().size() + eager_.Outlets().size(); }
  uint64_t published_messages() const {
    return batched_.published_messages() + eager_.published_messages();
  }

 private:
  int64_t EagerNumber() const { return -1 - static_cast<int64_t>(published_seq_); }

  const PublicationOptions options_;
  Publisher batched_;
  Publisher eager_;
  uint64_t published_seq_ = 0;
};

}  // namespace tickstack::tickerplant
