#include "feed/sources/sim_source.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "base/status.h"
#include "base/time.h"
#include "table/types.h"
#include "wire/upd_encoder.h"

namespace tickstack::feed {
namespace {

constexpr double kProfileRate = 48'000;
constexpr double kQuotesPerTradeMax = 1'000;
// The position of `sym` in both tables.
constexpr size_t kSymbolColumn = 1;

constexpr std::array kQuoteTypes = {Type::kTimestamp, Type::kSymbol, Type::kFloat, Type::kFloat,
                                    Type::kLong,      Type::kLong,   Type::kChar,  Type::kChar};
constexpr std::array kTradeTypes = {Type::kTimestamp, Type::kSymbol, Type::kFloat, Type::kInt,
                                    Type::kBoolean,   Type::kChar,   Type::kChar};

template <size_t kColumns>
size_t BytesMax(const std::array<Type, kColumns>& types, size_t rows) {
  size_t row_bytes = 0;
  for (const Type type : types) row_bytes += type == Type::kSymbol ? 8 : WidthOf(type);
  // PutName writes 8 bytes also for the last name, although the longest needs 6.
  return (1 + kColumns) * wire::kVectorHeadBytes + row_bytes * rows + 8;
}

template <typename T>
std::byte* Put(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof(value));
  return at + sizeof(value);
}

// Appends one fixed-width column: `value_of(row)` for each row.
template <typename T, typename Rows, typename ValueOf>
std::byte* PutColumn(std::byte* at, Type type, const Rows& rows, const ValueOf& value_of) {
  at = wire::PutColumnHead(at, type, rows.size());
  for (const auto& row : rows) at = Put<T>(at, value_of(row));
  return at;
}

// A multiplication would give 0.28999999999999998 for some prices that should read 0.29.
double Dollars(int32_t cents) { return cents / 100.0; }

absl::Status CheckRange(std::string_view option, double value, double low, double high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return InvalidArgument("{} {}: expected {} to {}", option, value, low, high);
}

}  // namespace

std::vector<SourceOption> SimOptions::List() {
  return {{"profile", "name of the load profile; only march2020 exists", &profile},
          {"rate", "updates per second (0: as fast as possible)", &rate},
          {"phase", "rates that follow one another, instead of one rate", &phases},
          {"seconds", "length of the market in s (0: endless)", &seconds},
          {"rows", "total number of updates, instead of --seconds", &rows},
          {"quotes_per_trade", "quotes for each trade", &quotes_per_trade, 1, 1'000},
          {"symbols", "number of symbols", &symbols, 1, 65'536},
          {"seed", "random seed, which determines the market", &seed},
          BatchRowsOption(&batch_rows),
          {"speed", "speed relative to real time (0 means 1)", &speed}};
}

absl::StatusOr<std::unique_ptr<Source>> SimOptions::Open() const {
  return SimSource::Create(*this);
}

std::string SimOptions::RowsName() const {
  const std::string name = fmt::format("sim.{}.{}.{}", profile, symbols, seed);
  // Ten is the profile's: its name stays what logs have.
  return quotes_per_trade == 10 ? name : fmt::format("{}.q{}", name, quotes_per_trade);
}

absl::StatusOr<std::unique_ptr<SimSource>> SimSource::Create(const SimOptions& options) {
  if (options.profile != "march2020") {
    return InvalidArgument("profile '{}': expected march2020", options.profile);
  }
  TS_RETURN_IF_ERROR(CheckRange("batch-rows", static_cast<double>(options.batch_rows), 1,
                                static_cast<double>(kBatchRowsMax)));
  TS_RETURN_IF_ERROR(CheckRange("symbols", static_cast<double>(options.symbols), 1,
                                static_cast<double>(kSimSymbolsMax)));
  if (options.rate != 0) TS_RETURN_IF_ERROR(CheckRange("rate", options.rate, 0.001, 1e9));
  if (options.speed != 0) TS_RETURN_IF_ERROR(CheckRange("speed", options.speed, 0.001, 1e6));
  TS_RETURN_IF_ERROR(CheckRange("seconds", options.seconds, 0, 1e9));
  TS_RETURN_IF_ERROR(CheckRange("quotes", static_cast<double>(options.quotes_max), -1, 1e15));
  TS_RETURN_IF_ERROR(CheckRange("trades", static_cast<double>(options.trades_max), -1, 1e15));
  TS_RETURN_IF_ERROR(CheckRange("rows", static_cast<double>(options.rows), 0, 1e15));

  TS_RETURN_IF_ERROR(CheckRange("quotes-per-trade", static_cast<double>(options.quotes_per_trade),
                                1, kQuotesPerTradeMax));

  const double speed = options.speed == 0 ? 1 : options.speed;
  std::optional<Pace> pace;
  if (!options.phases.empty()) {
    std::vector<PacePhase> phases = options.phases;
    for (PacePhase& phase : phases) phase = {phase.seconds / speed, phase.rate * speed};
    TS_ASSIGN_OR_RETURN(pace, Pace::Create(phases));
  } else if (options.rate > 0) {
    pace.emplace(options.rate * speed);
  }
  int64_t events_end = kInfinityLong;
  if (options.rows > 0) {
    events_end = options.rows;
  } else if (options.seconds > 0 && !options.phases.empty()) {
    const double ns = options.seconds / speed * static_cast<double>(kNsPerSecond);
    events_end = pace->DueBy(std::llround(std::min(ns, 9e18)) - 1);
  } else if (options.seconds > 0) {
    const double rate = options.rate == 0 ? kProfileRate : options.rate;
    events_end = static_cast<int64_t>(std::llround(std::min(options.seconds * rate, 1e15)));
  }
  return std::unique_ptr<SimSource>(new SimSource(options, std::move(pace), events_end));
}

SimSource::SimSource(const SimOptions& options, std::optional<Pace> pace, int64_t events_end)
    : market_(options.symbols, options.seed),
      batch_rows_(options.batch_rows),
      window_rows_(options.batch_rows),
      quotes_per_trade_(options.quotes_per_trade),
      events_end_(events_end),
      quotes_end_(options.quotes_max < 0 ? kInfinityLong : options.quotes_max),
      trades_end_(options.trades_max < 0 ? kInfinityLong : options.trades_max),
      pace_(std::move(pace)) {
  if (options.quotes_max >= 0 && options.trades_max >= 0) {
    events_end_ = std::min(
        events_end_, std::max(EventOfQuote(quotes_end_ - 1), EventOfTrade(trades_end_ - 1)) + 1);
  }
  rows_.reserve(static_cast<size_t>(batch_rows_));
}

std::string SimSource::Describe() const {
  // For several rates their mean: the updates of the first million seconds.
  constexpr int64_t kMillionSecondsNs = 1'000'000 * kNsPerSecond;
  return fmt::format(
      "sim symbols={} updates={} updates_per_s={}", market_.symbols(),
      events_end_ == kInfinityLong ? "endless" : std::to_string(events_end_),
      !pace_ ? "max"
             : fmt::format("{:.0f}", static_cast<double>(pace_->DueBy(kMillionSecondsNs)) / 1e6));
}

void SimSource::Start(int64_t now_ns) {
  start_ns_ = now_ns;
  start_event_ = next_event_;
}

int64_t SimSource::DueNs(int64_t event) const {
  // A rewind may go back to before the first update: the pace begins with that one.
  const int64_t after = std::max<int64_t>(event - start_event_, 0);
  return pace_ ? start_ns_ + pace_->DueNs(after) : window_ns_;
}

int64_t SimSource::DueEnd(int64_t now_ns) const {
  if (!pace_) return events_end_;
  if (now_ns < start_ns_) return next_event_;
  const int64_t due = pace_->DueBy(now_ns - start_ns_);
  return start_event_ + std::min(due, events_end_ - start_event_);
}

int64_t SimSource::next_due_ns() const {
  int64_t event = next_event_;
  if (next_quote_ < window_quote_end_) {
    event = EventOfQuote(next_quote_);
  } else if (next_trade_ < window_trade_end_) {
    event = EventOfTrade(next_trade_);
  }
  if (event >= events_end_) return kNeverDue;
  return pace_ ? DueNs(event) : kAlwaysDue;
}

// Takes the next due updates, as many as give neither table more than window_rows_. Returns false
// if none is due.
bool SimSource::OpenWindow(int64_t now_ns) {
  const int64_t end =
      std::min(DueEnd(now_ns), EventOfQuote(QuotesBefore(next_event_) + window_rows_));
  if (end <= next_event_) return false;
  window_quote_end_ = std::min(QuotesBefore(end), quotes_end_);
  window_trade_end_ = std::min(TradesBefore(end), trades_end_);
  window_ns_ = now_ns;
  next_event_ = end;
  return true;
}

absl::StatusOr<const FeedBatch*> SimSource::Next(int64_t now_ns) {
  // After a rewind one table may be ahead of the other; its rows are not in the first windows.
  while (true) {
    if (next_quote_ < window_quote_end_) return EmitQuotes();
    if (next_trade_ < window_trade_end_) return EmitTrades();
    if (!OpenWindow(now_ns)) return nullptr;
  }
}

bool SimSource::Select(size_t column, const std::function<bool(std::string_view)>& is_wanted) {
  if (column != kSymbolColumn) return false;
  // A batch has nearly batch_rows, but a window at most this many rows, which take 0.5 ms.
  constexpr double kWindowRowsMax = 150'000;
  double all = 0, chosen = 0;
  wanted_.resize(market_.symbols());
  for (size_t i = 0; i < wanted_.size(); ++i) {
    wanted_[i] = is_wanted(market_.name(i)) ? 1 : 0;
    all += ActivityOf(i);
    if (wanted_[i] != 0) chosen += ActivityOf(i);
  }
  const auto rows = static_cast<double>(batch_rows_);
  window_rows_ = static_cast<int64_t>(
      std::max(rows, std::min(0.95 * rows * all / std::max(chosen, 1e-9), kWindowRowsMax)));
  return true;
}

void SimSource::AddRow(int64_t event) {
  const SimMarket::Draw draw = market_.At(static_cast<uint64_t>(event));
  rows_.push_back({event, market_.BidCents(draw.symbol, static_cast<uint64_t>(event)), draw});
}

template <typename EventAfter>
int64_t SimSource::AddChosen(int64_t row, int64_t end, int64_t event,
                             const EventAfter& event_after) {
  const int64_t begin = row;
  const auto most = static_cast<size_t>(std::min(batch_rows_, end - begin));
  rows_.resize(most);
  chosen_.resize(most);
  size_t n = 0;
  for (; row < end && n < most; ++row) {
    const SimMarket::Draw draw = market_.At(static_cast<uint64_t>(event));
    // Without a branch, which would often be mispredicted.
    rows_[n] = {event, 0, draw};
    chosen_[n] = static_cast<uint32_t>(row - begin);
    n += wanted_[draw.symbol];
    event = event_after(event);
  }
  rows_.resize(n);
  chosen_.resize(n);
  for (Row& each : rows_) {
    each.bid_cents = market_.BidCents(each.draw.symbol, static_cast<uint64_t>(each.event));
  }
  return row;
}

int64_t SimSource::AddQuotes() {
  if (!wanted_.empty()) {
    int64_t quotes_to_trade = quotes_per_trade_ - next_quote_ % quotes_per_trade_;
    return AddChosen(next_quote_, window_quote_end_, EventOfQuote(next_quote_), [&](int64_t event) {
      const bool is_trade = --quotes_to_trade == 0;
      if (is_trade) quotes_to_trade = quotes_per_trade_;
      return event + (is_trade ? 2 : 1);
    });
  }
  for (int64_t row = next_quote_; row < window_quote_end_; ++row) AddRow(EventOfQuote(row));
  return window_quote_end_;
}

int64_t SimSource::AddTrades() {
  if (!wanted_.empty()) {
    return AddChosen(next_trade_, window_trade_end_, EventOfTrade(next_trade_),
                     [this](int64_t event) { return event + quotes_per_trade_ + 1; });
  }
  for (int64_t row = next_trade_; row < window_trade_end_; ++row) AddRow(EventOfTrade(row));
  return window_trade_end_;
}

std::byte* SimSource::PutTimesAndSymbols(std::byte* at) const {
  at = PutColumn<int64_t>(at, Type::kTimestamp, rows_,
                          [this](const Row& row) { return DueNs(row.event); });
  at = wire::PutColumnHead(at, Type::kSymbol, rows_.size());
  for (const Row& row : rows_) at += market_.PutName(row.draw.symbol, at);
  return at;
}

const FeedBatch* SimSource::EmitQuotes() {
  rows_.clear();
  const int64_t end_row = AddQuotes();
  const int64_t last_event = EventOfQuote(end_row - 1);
  if (rows_.empty()) return Emit("quote", next_quote_, end_row, last_event, data_.data());
  data_.resize(BytesMax(kQuoteTypes, rows_.size()));
  std::byte* at = wire::PutVectorHead(data_.data(), Type::kList, kQuoteTypes.size());
  at = PutTimesAndSymbols(at);
  at = PutColumn<double>(at, Type::kFloat, rows_,
                         [](const Row& row) { return Dollars(row.bid_cents); });
  at = PutColumn<double>(at, Type::kFloat, rows_, [](const Row& row) {
    return Dollars(row.bid_cents + SpreadCents(row.draw.bits));
  });
  at = PutColumn<int64_t>(at, Type::kLong, rows_,
                          [](const Row& row) { return RoundLots(row.draw.bits >> 2u); });
  at = PutColumn<int64_t>(at, Type::kLong, rows_,
                          [](const Row& row) { return RoundLots(row.draw.bits >> 6u); });
  at = PutColumn<char>(at, Type::kChar, rows_, [](const Row&) { return 'R'; });
  at = PutColumn<char>(at, Type::kChar, rows_,
                       [](const Row& row) { return Exchange(row.draw.bits >> 10u); });
  return Emit("quote", next_quote_, end_row, last_event, at);
}

const FeedBatch* SimSource::EmitTrades() {
  rows_.clear();
  const int64_t end_row = AddTrades();
  const int64_t last_event = EventOfTrade(end_row - 1);
  if (rows_.empty()) return Emit("trade", next_trade_, end_row, last_event, data_.data());
  data_.resize(BytesMax(kTradeTypes, rows_.size()));
  std::byte* at = wire::PutVectorHead(data_.data(), Type::kList, kTradeTypes.size());
  at = PutTimesAndSymbols(at);
  at = PutColumn<double>(at, Type::kFloat, rows_, [](const Row& row) {
    const bool at_ask = (row.draw.bits >> 15u) != 0;
    return Dollars(row.bid_cents + (at_ask ? SpreadCents(row.draw.bits) : 0));
  });
  at = PutColumn<int32_t>(at, Type::kInt, rows_,
                          [](const Row& row) { return RoundLots(row.draw.bits >> 2u); });
  at = PutColumn<bool>(at, Type::kBoolean, rows_, [](const Row&) { return false; });
  at = PutColumn<char>(at, Type::kChar, rows_,
                       [](const Row& row) { return SaleCondition(row.draw.bits >> 6u); });
  at = PutColumn<char>(at, Type::kChar, rows_,
                       [](const Row& row) { return Exchange(row.draw.bits >> 10u); });
  return Emit("trade", next_trade_, end_row, last_event, at);
}

const FeedBatch* SimSource::Emit(std::string_view table, int64_t& next_row, int64_t end_row,
                                 int64_t last_event, const std::byte* end) {
  const auto bytes = static_cast<size_t>(end - data_.data());
  batch_ = {table, next_row, end_row - next_row,
            DueNs(rows_.empty() ? last_event : rows_.back().event), data_.span().first(bytes)};
  if (!wanted_.empty()) batch_.chosen = chosen_;
  next_row = end_row;
  return &batch_;
}

absl::Status SimSource::Rewind(const NameMap<int64_t>& rows_done) {
  const auto done = [&rows_done](std::string_view table) {
    const auto found = rows_done.find(table);
    return found == rows_done.end() ? 0 : found->second;
  };
  const int64_t quotes = done("quote"), trades = done("trade");
  for (const int64_t rows : {quotes, trades}) {
    if (rows < 0 || rows > int64_t{1'000'000'000'000'000}) {
      return InvalidArgument("rewind to row {}: expected 0 to 10^15", rows);
    }
  }
  next_quote_ = quotes;
  next_trade_ = trades;
  next_event_ = std::min(EventOfQuote(quotes), EventOfTrade(trades));
  next_event_ = std::min(next_event_, events_end_);
  window_quote_end_ = window_trade_end_ = 0;
  return absl::OkStatus();
}

}  // namespace tickstack::feed
