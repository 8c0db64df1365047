#pragma once

// Pending rows by table, and the subscribers that they are sent to.
//
// Rows are collected by table and column between two publications. They are sent as one message
// (`upd; `table; rows) for each table, or as several of about kMessageBytes. Large columns are kept
// as spans over their receive buffers, small ones are copied together: a batch of 2,400 rows goes
// from socket to socket without a copy, and 2,000 single rows become one message. Unfiltered
// subscribers share the encoded message; its prefix and suffix are encoded a second time for
// subscribers of numbered upds.
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

#include "absl/status/status.h"
#include "base/string_map.h"
#include "table/batch.h"
#include "table/schema.h"
#include "wire/connection.h"

namespace tickstack::tickerplant {

// The destination of a subscriber's messages: a connection, or a test.
class Outlet {
 public:
  virtual ~Outlet() = default;
  virtual void Queue(std::span<const wire::Segment> message) = 0;
  virtual void Flush() = 0;
  // Bytes that were queued and that the subscriber's socket has not taken yet.
  virtual size_t queued_bytes() const { return 0; }
  virtual uint64_t sent_bytes() const { return 0; }  // Bytes that the socket has taken.
  virtual void Close(const absl::Status& /*why*/) {}
  virtual std::string name() const { return {}; }  // For logs.
};

struct Subscription {
  Outlet* outlet = nullptr;
  StringSet symbols = {};  // Empty means all.
  bool numbered = false;   // Upds carry the log's sequence number as a fourth item.
  bool eager = false;  // The subscriber asks for rows as soon as they are logged: publication.h.
};

class Publisher {
 public:
  // Size after which rows of a table continue in another message: half of the block that our
  // subscribers read into, so that they process the first rows, still in the caches, while the next
  // arrive. A single message of 48,000 rows would have to arrive completely, and be copied as its
  // block grows, before its first row is visible.
  static constexpr size_t kMessageBytes = size_t{128} << 10;

  // `schemas` must outlive the publisher; tables are identified by their index in it. With
  // `keep_order` (zero-latency mode), rows of different tables are sent in the order of arrival;
  // otherwise (batch mode) each table's rows are sent together, in messages of kMessageBytes.
  Publisher(std::span<const Schema> schemas, bool keep_order);
  ~Publisher();

  // Replaces the outlet's subscription to this table. No rows may be pending.
  void Subscribe(size_t table, Subscription subscription);
  void Remove(const Outlet* outlet);
  void Remove(const Outlet* outlet, size_t table);
  std::span<const Subscription> SubscriptionsOf(size_t table) const;
  // All outlets, in the order of their first subscription. Messages are sent to them in this order.
  const std::vector<Outlet*>& Outlets() const { return outlets_; }

  // Adds rows that fit the table's schema. `owner` keeps the batch's bytes alive; if it is nullptr,
  // they are copied. Rows of a table without subscribers are dropped.
  void Add(size_t table, const BatchView& batch, const std::shared_ptr<const void>& owner);
  size_t pending_bytes() const { return pending_bytes_; }

  // Sends all pending rows; numbered upds carry `seq`. Cost: O(columns * messages)
  // plus one pass over the rows for each filtered subscription.
  void Publish(int64_t seq);
  uint64_t published_messages() const { return published_messages_; }
  void ReleaseMemory();  // Frees the buffers of earlier publications.

 private:
  struct Batch;
  struct Rows;
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

// Returns the empty table that `.u.sub` answers: keyed if its schema is, else with `g#` on sym.
Value EmptyTable(const Schema& schema);

}  // namespace tickstack::tickerplant
