#pragma once

// What waits to be published, and to whom.
//
// Rows gather by table between two publications, column by column, and leave as one message
// (`upd; `table; rows) a table, or as several of about kMessageBytes. Large columns are kept as
// spans over the receive buffers they came in, small ones are copied together; so a batch of 2,400
// rows travels from socket to socket without being touched, and two thousand single rows become one
// message. Unfiltered subscribers share the encoded message; it is encoded once more, three words
// apart, for those that asked for numbered upds.
//
// A large batch leaves in rounds: the first message of every table to every subscriber, then the
// next two of each, four, eight. Each subscriber is at work, and shows rows of every table, while
// the most of the batch is still to be sent; the last of ten does not wait for nine times all of
// it.
//
//   header | ( `upd ; `trade ; +names!( type attr count | bytes bytes bytes .. ; .. ) [; seq] )
//
// Threads: one owner.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/string_map.h"
#include "table/batch.h"
#include "table/schema.h"
#include "wire/connection.h"

namespace tickstack::tickerplant {

// Where a subscriber's bytes go. A connection, or a test.
class Outlet {
 public:
  virtual ~Outlet() = default;
  virtual void Queue(std::span<const wire::Segment> message) = 0;
  virtual void Flush() = 0;
};

struct Subscription {
  Outlet* outlet = nullptr;
  StringSet symbols = {};  // Empty: all.
  bool numbered = false;   // Upds carry the log's sequence number as a fourth item.
  bool ahead = false;      // Rows as soon as they are logged: see Tickerplant::Subscribe.
};

class Publisher {
 public:
  // Rows of a table go on in another message from here on: half of the block that a subscriber of
  // ours reads into, so that it works on the first rows, warm in its caches, while the next are on
  // their way. One message of a second's 48,000 rows is read to its end, and copied as its block
  // grows, before anybody sees a row of it.
  static constexpr size_t kMessageBytes = size_t{128} << 10;

  // `schemas` outlive the publisher; a table is named by its index in them. With `keep_order`, rows
  // of different tables leave in the order in which they came (zero-latency mode); otherwise each
  // table's rows leave together, or by messages of kMessageBytes (batch mode).
  Publisher(std::span<const Schema> schemas, bool keep_order);
  ~Publisher();

  // Replaces what the outlet has subscribed of this table. What is pending must have been
  // published.
  void Subscribe(size_t table, Subscription subscription);
  void Remove(const Outlet* outlet);
  std::span<const Subscription> SubscriptionsOf(size_t table) const;
  // Each once, in the order in which they subscribed, which is that in which they are sent to.
  const std::vector<Outlet*>& Outlets() const { return outlets_; }

  // Adds rows that fit the table's schema. `owner` keeps the batch's bytes alive; spans that it
  // does not own are copied if it is nullptr. Rows of a table that nobody subscribed to are dropped
  // here.
  void Add(size_t table, const BatchView& batch, const std::shared_ptr<const void>& owner);
  size_t pending_bytes() const { return pending_bytes_; }

  // Sends what is pending; `seq` is the number of messages in the log by now. Cost: O(columns *
  // messages) plus one pass over the rows for each filtered subscription.
  void Publish(int64_t seq);
  // The same for what is pending of some tables, `tables[i]` for schema i; the rest goes on
  // waiting. Upds carry `number` (wire/position.h says which).
  void PublishAhead(const std::vector<bool>& tables, int64_t number);
  // Queues a whole message to every outlet, once each.
  void Broadcast(const ByteBuffer& message);

  uint64_t published_messages() const { return published_messages_; }

 private:
  struct Batch;
  struct Rows;
  size_t GatherRound(std::vector<std::unique_ptr<Batch>>& batches, size_t begin,
                     size_t round) const;
  void SendAll(std::vector<std::unique_ptr<Batch>> batches, int64_t seq);
  void Send(const Batch& batch, int64_t seq);
  void SendFiltered(const Rows& rows, const Subscription& subscription, int64_t seq) const;
  Batch& BatchFor(size_t table);

  std::span<const Schema> schemas_;
  const bool keep_order_;
  std::vector<std::vector<Subscription>> subscriptions_;  // By table.
  std::vector<Outlet*> outlets_;
  std::vector<std::unique_ptr<Batch>> pending_;  // In the order of publication.
  std::vector<std::unique_ptr<Batch>> spare_;    // Emptied, with their buffers.
  std::vector<Batch*> batch_of_table_;           // Batch mode: the pending batch, or nullptr.
  size_t pending_bytes_ = 0;
  uint64_t published_messages_ = 0;
};

// The empty table that `.u.sub` answers: keyed if its schema is, else with `g#` on sym.
Value EmptyTable(const Schema& schema);

}  // namespace tickstack::tickerplant
