// Records of single orders, trades and books.

#include "feed/market/dbn/dbn_record.h"

namespace tickstack::feed::market {
namespace {

constexpr std::string_view kBadSide = "its side is not A, B or N";
constexpr std::string_view kBadAction = "its action is not A, C, F, M, N, R or T";
// Offsets in records of prices.
constexpr size_t kBookPrice = 16, kBookSize = 24, kBookAction = 28, kBookSide = 29, kBookFlags = 30,
                 kBookRecv = 32, kBookSequence = 44, kBookLevels = 48, kLevelBytes = 32;

bool IsDbnAction(char action) {
  switch (action) {
    case 'A':
    case 'C':
    case 'F':
    case 'M':
    case 'N':
    case 'R':
    case 'T':
      return true;
    default:
      return false;
  }
}

// `sequence_at`: kBookSequence, or 0 in consolidated records, which have no sequence number.
void SetDbnHead(const DbnRecord& r, size_t sequence_at, EventHead& head) {
  r.SetHead(head, kBookRecv, sequence_at, r.state.channel.dataset());
}

// The trade of a record of prices, which is about the aggressor.
std::string_view PutDbnTrade(DbnRecord& r, size_t sequence_at) {
  const FlagText flags(r.at[kBookFlags]);
  Trade trade;
  SetDbnHead(r, sequence_at, trade);
  trade.price = DbnPrice(r.at + kBookPrice);
  trade.size = DbnNumber<uint32_t>(r.at + kBookSize);
  trade.side = DbnSide(r.Char(kBookSide));
  if (trade.side == 0) return kBadSide;
  trade.cond = flags.view();
  r.sink.On(trade);
  return {};
}

// Sets the best bid and ask; an empty side has no price, and size 0.
void SetDbnQuote(const DbnRecord& r, size_t sequence_at, Quote& quote) {
  const std::byte* const level = r.at + kBookLevels;
  SetDbnHead(r, sequence_at, quote);
  quote.bid = DbnPrice(level);
  quote.ask = DbnPrice(level + 8);
  quote.bsize = DbnNumber<uint32_t>(level + 16);
  quote.asize = DbnNumber<uint32_t>(level + 20);
}

void PutDbnQuote(DbnRecord& r) {
  const FlagText flags(r.at[kBookFlags]);
  Quote quote;
  SetDbnQuote(r, kBookSequence, quote);
  quote.cond = flags.view();
  r.sink.On(quote);
}

void PutDbnConsolidatedQuote(DbnRecord& r) {
  const FlagText flags(r.at[kBookFlags]);
  const DbnVenueText bid(r.Get<uint16_t>(kBookLevels + 24));
  const DbnVenueText ask(r.Get<uint16_t>(kBookLevels + 28));
  Quote quote;
  SetDbnQuote(r, 0, quote);
  quote.cond = flags.view();
  quote.bid_venue = bid.view();
  quote.ask_venue = ask.view();
  r.sink.On(quote);
}

// Checks the fields of an event, puts its quote, and the trade if it is one.
template <void (*put_quote)(DbnRecord&), size_t sequence_at>
std::string_view PutDbnEvent(DbnRecord& r) {
  if (!IsDbnAction(r.Char(kBookAction))) return kBadAction;
  if (DbnSide(r.Char(kBookSide)) == 0) return kBadSide;
  put_quote(r);
  return r.Char(kBookAction) == 'T' ? PutDbnTrade(r, sequence_at) : std::string_view();
}

DbnBook ReadDbnBook(const DbnRecord& r) {
  DbnBook book;
  for (size_t i = 0; i < DbnBook::kLevels; ++i) {
    const size_t at = kBookLevels + i * kLevelBytes;
    book.bids[i] = {r.Get<int64_t>(at), r.Get<uint32_t>(at + 16), r.Get<uint32_t>(at + 24)};
    book.asks[i] = {r.Get<int64_t>(at + 8), r.Get<uint32_t>(at + 20), r.Get<uint32_t>(at + 28)};
  }
  return book;
}

void PutDbnLevels(DbnRecord& r, char side, const DbnChanges& changes, size_t& left) {
  const FlagText flags(r.at[kBookFlags]);
  for (const DbnLevel& changed : changes.levels()) {
    Level level;
    SetDbnHead(r, kBookSequence, level);
    level.side = side;
    level.price = DbnPriceOf(changed.price);
    level.size = DbnNumberOf(changed.size);
    level.orders = DbnNumberOf(changed.orders);
    level.complete = --left == 0;
    level.cond = flags.view();
    r.sink.On(level);
  }
}

}  // namespace

// `C` takes the size from an order, in part or wholly; the record does not say which. `F` is an
// execution that a later `C` or `M` takes from the order.
std::string_view DecodeDbnOrder(DbnRecord& r) {
  constexpr size_t kOrder = 16, kPrice = 24, kSize = 32, kOrderFlags = 36, kChannel = 37,
                   kAction = 38, kSide = 39, kRecv = 40, kSequence = 52;
  constexpr uint8_t kNoChannel = std::numeric_limits<uint8_t>::max();
  const FlagText flags(r.at[kOrderFlags]);
  const char action = r.Char(kAction), side = DbnSide(r.Char(kSide));
  if (!IsDbnAction(action)) return kBadAction;
  if (side == 0) return kBadSide;
  if (action == 'N') return {};
  const std::string_view channel = r.state.channel.Text(r.Get<uint8_t>(kChannel), kNoChannel);
  if (action == 'T') {
    Trade trade;
    r.SetHead(trade, kRecv, kSequence, channel);
    trade.price = DbnPrice(r.at + kPrice);
    trade.size = DbnNumber<uint32_t>(r.at + kSize);
    trade.side = side;
    trade.cond = flags.view();
    r.sink.On(trade);
    return {};
  }
  Order order;
  r.SetHead(order, kRecv, kSequence, channel);
  order.action = action == 'C' ? 'X' : action;
  order.side = side;
  if (action != 'R') {
    order.price = DbnPrice(r.at + kPrice);
    order.size = DbnNumber<uint32_t>(r.at + kSize);
    order.id = r.Get<int64_t>(kOrder);
  }
  order.cond = flags.view();
  r.sink.On(order);
  return {};
}

std::string_view DecodeDbnTrade(DbnRecord& r) {
  return r.Char(kBookAction) == 'T' ? PutDbnTrade(r, kBookSequence) : "its action is not T";
}

std::string_view DecodeDbnTop(DbnRecord& r) { return PutDbnEvent<PutDbnQuote, kBookSequence>(r); }

std::string_view DecodeDbnConsolidated(DbnRecord& r) {
  return PutDbnEvent<PutDbnConsolidatedQuote, 0>(r);
}

std::string_view DecodeDbnQuote(DbnRecord& r) {
  PutDbnQuote(r);
  return {};
}

std::string_view DecodeDbnConsolidatedQuote(DbnRecord& r) {
  PutDbnConsolidatedQuote(r);
  return {};
}

std::string_view DecodeDbnBook(DbnRecord& r) {
  DbnBook* const book = r.state.books.Find(r.publisher(), r.instrument());
  if (book == nullptr) return "there are too many books";
  const std::string_view why = PutDbnEvent<PutDbnQuote, kBookSequence>(r);
  if (!why.empty()) return why;
  const DbnBook now = ReadDbnBook(r);
  const DbnChanges bids(book->bids, now.bids), asks(book->asks, now.asks);
  size_t left = bids.levels().size() + asks.levels().size();
  PutDbnLevels(r, 'B', bids, left);
  PutDbnLevels(r, 'S', asks, left);
  *book = now;
  return {};
}

}  // namespace tickstack::feed::market
