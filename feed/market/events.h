#pragma once

// What a decoder makes of an exchange's messages. Each event becomes a row of the table of its
// name; docs/feeds/README.md lists the columns.
//
// A field that the message does not have keeps its default, which is null. Views are valid during
// the call that receives the event.
//
// Sizes are whole numbers of shares or contracts. Some sources have sizes that need not be whole,
// such as amounts of coins, and ids of trades that are texts. Their events have the fields `amount`
// in place of `size`, and `id_text` in place of `id`, and their tables have other types
// (feed/sources/market_rows.h).

#include <bit>
#include <cstdint>
#include <string_view>

#include "table/types.h"

namespace tickstack::feed::market {

inline constexpr double kNullPrice = std::bit_cast<double>(kNullFloatBits);

struct EventHead {
  EventHead() = default;
  // Copies field by field. A copy in blocks of 16 bytes, of fields that were just written, would
  // wait until the processor has stored everything before them, such as an order whose place is not
  // in a cache. (CMakeLists.txt keeps the compiler from making such blocks.)
  EventHead(const EventHead& other)
      : time_ns(other.time_ns),
        sym(other.sym.data(), other.sym.size()),
        recv_ns(other.recv_ns),
        seq(other.seq),
        channel(other.channel.data(), other.channel.size()),
        venue(other.venue.data(), other.venue.size()) {}
  EventHead& operator=(const EventHead&) = default;

  int64_t time_ns = kNullLong;  // By the exchange: ns since 2000-01-01 UTC.
  std::string_view sym{};
  int64_t recv_ns = kNullLong;  // When the capture received it, in the same unit.
  // The exchange's sequence number of the message. In a stream without them, the message's number
  // in the file, from 1.
  int64_t seq = kNullLong;
  std::string_view channel{};
  std::string_view venue{};  // Empty: that of the source.
};
// A field that is added is copied, too.
static_assert(sizeof(EventHead) == 3 * sizeof(int64_t) + 3 * sizeof(std::string_view));

// An execution. `side` is that of the resting order, or of the aggressor where the venue's page
// says so.
struct Trade : EventHead {
  double price = kNullPrice;
  int64_t size = kNullLong;
  char side = ' ';
  std::string_view cond{};
  int64_t id = kNullLong;
  double amount = kNullPrice;
  std::string_view id_text{};
};

// An execution that the exchange takes back: `id` is that of the trade.
struct TradeBreak : EventHead {
  double price = kNullPrice;
  int64_t size = kNullLong;
  std::string_view cond{};
  int64_t id = kNullLong;
  double amount = kNullPrice;
};

// The best bid and ask.
struct Quote : EventHead {
  double bid = kNullPrice, ask = kNullPrice;
  int64_t bsize = kNullLong, asize = kNullLong;
  std::string_view cond{};
  // Where they are, if the quote is the best of several markets.
  std::string_view bid_venue{}, ask_venue{};
  double bamount = kNullPrice, aamount = kNullPrice;
};

// A change of one order. `size` is what the action adds, executes or cancels; after `M` and `U`,
// what the order then has.
struct Order : EventHead {
  // A add, E executed, F executed but changed by a later event, X cancelled in part, D deleted,
  // U replaced by another order, M modified, R all orders of the symbol removed.
  char action = ' ';
  char side = ' ';  // B or S; blank if it is not known.
  double price = kNullPrice;
  int64_t size = kNullLong;
  int64_t id = kNullLong;
  int64_t old_id = kNullLong;    // U: the order that it replaces.
  int64_t trade_id = kNullLong;  // E: the execution.
  std::string_view cond{};
  std::string_view mpid{};  // Market participant.
};

// The total size at one price of the book; 0 removes the price.
struct Level : EventHead {
  char side = ' ';
  double price = kNullPrice;
  int64_t size = kNullLong;
  int64_t orders = kNullLong;
  bool complete = true;  // False: the book is consistent only after a later event.
  std::string_view cond{};
  double amount = kNullPrice;
};

struct Status : EventHead {
  std::string_view kind{};  // What changed, such as `trading`.
  std::string_view state{};
  std::string_view reason{};
  std::string_view mpid{};
  double price = kNullPrice;
  int64_t at_ns = kNullLong;
};

// Information about an auction before it takes place.
struct Auction : EventHead {
  std::string_view kind{};
  std::string_view state{};
  char side = ' ';  // The side of the imbalance.
  int64_t paired = kNullLong;
  int64_t imbalance = kNullLong;
  double ref_price = kNullPrice;
  double indicative = kNullPrice;  // Clearing price with all orders.
  double book_price = kNullPrice;  // Clearing price of orders for the auction only.
  double collar = kNullPrice;      // Reference of the collar.
  double low = kNullPrice, high = kNullPrice;
  double min_price = kNullPrice, max_price = kNullPrice;
  int64_t at_ns = kNullLong;
  int64_t extensions = kNullLong;
  std::string_view cond{};
};

struct Instrument : EventHead {
  int64_t id = kNullLong;  // By which messages of the day name it.
  std::string_view kind{};
  std::string_view market{};
  int64_t lot = kNullLong;
  double prior_close = kNullPrice;
  std::string_view luld_tier{};
  int64_t leverage = kNullLong;
  std::string_view currency{};
  std::string_view underlying{};
  double tick = kNullPrice;
  double multiplier = kNullPrice;
  double strike = kNullPrice;
  int64_t expiry_ns = kNullLong;
  bool test = false;
  std::string_view flags{};
};

// What was traded in an interval, which begins at the time of the head.
struct Bar : EventHead {
  std::string_view interval{};  // Such as `1m`.
  double open = kNullPrice, high = kNullPrice, low = kNullPrice, close = kNullPrice;
  int64_t volume = kNullLong;
};

// A figure that the exchange publishes, such as a settlement price.
struct Statistic : EventHead {
  std::string_view kind{};
  double price = kNullPrice;
  int64_t size = kNullLong;
  int64_t at_ns = kNullLong;  // The time or day for which it is.
  char action = ' ';          // A added, D deleted.
  std::string_view cond{};
};

// Sequence numbers that no line of a channel delivered. `sym` is empty.
struct Gap : EventHead {
  std::string_view session{};
  int64_t first_seq = kNullLong, last_seq = kNullLong;
  // Times of the messages before and after it.
  int64_t first_time_ns = kNullLong, last_time_ns = kNullLong;
  std::string_view tried{};   // Where the messages were looked for.
  std::string_view closed{};  // What ended the search.
  int64_t closed_ns = kNullLong;
};

// Receives events in the order of the stream.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void On(const Trade& event) = 0;
  virtual void On(const TradeBreak& event) = 0;
  virtual void On(const Quote& event) = 0;
  virtual void On(const Order& event) = 0;
  virtual void On(const Level& event) = 0;
  virtual void On(const Status& event) = 0;
  virtual void On(const Auction& event) = 0;
  virtual void On(const Instrument& event) = 0;
  virtual void On(const Bar& event) = 0;
  virtual void On(const Statistic& event) = 0;
  virtual void On(const Gap& event) = 0;
};

}  // namespace tickstack::feed::market
