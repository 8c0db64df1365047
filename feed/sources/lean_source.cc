#include "feed/sources/lean_source.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <filesystem>

#include "base/status.h"
#include "base/time.h"

namespace tickstack::feed {
namespace {

constexpr std::string_view kTableNames[] = {"trade", "quote"};

std::string Capitals(std::string_view text) {
  std::string capitals(text);
  for (char& c : capitals) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return capitals;
}

// True for a folder name that is a valid symbol in capitals: nothing that could lead out of the
// folder.
bool IsSymbol(std::string_view text) {
  return !text.empty() && text.size() <= 32 && text[0] != '.' &&
         text.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

double NullFloat() { return std::bit_cast<double>(kNullFloatBits); }

}  // namespace

ColumnList LeanSource::MakeTradeList() {
  return ColumnList(std::array{Type::kTimestamp, Type::kSymbol, Type::kFloat, Type::kInt,
                               Type::kBoolean, Type::kChar, Type::kChar});
}

ColumnList LeanSource::MakeQuoteList() {
  return ColumnList(std::array{Type::kTimestamp, Type::kSymbol, Type::kFloat, Type::kFloat,
                               Type::kLong, Type::kLong, Type::kChar, Type::kChar});
}

std::vector<SourceOption> LeanOptions::List() {
  return {{"path", "folder of the archives", &path},
          {"symbols", "folders of the symbols, such as aig,bac", &symbols},
          BatchRowsOption(&batch_rows),
          {"speed", "speed relative to real time (0: as fast as possible)", &speed}};
}

absl::StatusOr<std::unique_ptr<Source>> LeanOptions::Open() const {
  return LeanSource::Create(*this);
}

std::string LeanOptions::RowsName() const {
  return fmt::format("lean.{}.{}", date, ShortName(fmt::format("{}", fmt::join(symbols, ","))));
}

absl::StatusOr<std::unique_ptr<LeanSource>> LeanSource::Create(const LeanOptions& options) {
  if (options.date.empty()) {
    return InvalidArgument(
        "--date is missing (in a configuration: date): expected such as 2013.10.07");
  }
  const std::optional<int32_t> date = ParseDate(options.date);
  if (!date) return InvalidArgument("date '{}': expected such as 2013.10.07", options.date);
  if (options.path.empty()) {
    return InvalidArgument(
        "--path is missing (in a configuration: path): expected a folder of LEAN ticks");
  }
  if (options.symbols.empty()) {
    return InvalidArgument(
        "--symbols is missing (in a configuration: symbols): expected such as aig,bac");
  }
  if (options.batch_rows < 1 || options.batch_rows > kBatchRowsMax) {
    return InvalidArgument("batch-rows {}: expected 1 to {}", options.batch_rows, kBatchRowsMax);
  }
  if (!(options.speed >= 0 && options.speed <= 1e6)) {
    return InvalidArgument("speed {}: expected 0 to 1000000", options.speed);
  }
  std::unique_ptr<LeanSource> source(new LeanSource);
  source->date_ns_ = int64_t{*date} * kNsPerDay;
  source->batch_rows_ = options.batch_rows;
  source->speed_ = options.speed;
  const Civil civil = CivilFromDays(*date);
  const std::string day = fmt::format("{:04}{:02}{:02}", civil.year, civil.month, civil.day);
  for (const std::string& symbol : options.symbols) {
    TS_RETURN_IF_ERROR(source->AddSymbol(options, day, symbol));
  }
  std::sort(source->streams_.begin(), source->streams_.end(), [](const Stream& x, const Stream& y) {
    return x.table != y.table ? x.table > y.table : x.symbol < y.symbol;
  });
  TS_RETURN_IF_ERROR(source->Rewind({}));
  return source;
}

absl::Status LeanSource::AddSymbol(const LeanOptions& options, std::string_view date,
                                   const std::string& symbol) {
  const std::string name = Capitals(symbol);
  if (!IsSymbol(symbol)) return InvalidArgument("symbols: '{}', expected a folder name", symbol);
  for (const Symbol& known : symbols_) {
    if (known.name == name) return InvalidArgument("symbols: {} is listed twice", symbol);
  }
  const std::filesystem::path folder = std::filesystem::path(options.path) / symbol;
  symbols_.push_back({name, {}});
  const size_t streams = streams_.size();
  for (const Table table : {kTrade, kQuote}) {
    const std::string path = folder / fmt::format("{}_{}.zip", date, kTableNames[table]);
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) continue;
    Stream stream{};
    stream.table = table;
    stream.symbol = symbols_.size() - 1;
    stream.path = path;
    streams_.push_back(std::move(stream));
  }
  if (streams_.size() > streams) return absl::OkStatus();
  return NotFound("{}: expected {}_trade.zip or {}_quote.zip, found neither", folder.string(), date,
                  date);
}

std::string LeanSource::Describe() const {
  std::string text =
      fmt::format("lean date={} archives={}", FormatDate(DayOf(date_ns_)), streams_.size());
  for (size_t i = 0; i < symbols_.size(); ++i) {
    std::array<bool, kTables> has{};
    for (const Stream& stream : streams_) has[stream.table] |= stream.symbol == i;
    for (const Table table : {kTrade, kQuote}) {
      if (!has[table]) text += fmt::format(" {}_without={}", symbols_[i].name, kTableNames[table]);
    }
  }
  return text;
}

void LeanSource::Start(int64_t now_ns) {
  start_ns_ = now_ns;
  start_of_day_ns_ = heap_.empty() ? 0 : streams_[heap_.front()].of_day_ns;
}

int64_t LeanSource::DueNs(int64_t of_day_ns) const {
  if (speed_ == 0) return now_ns_;
  const double after = static_cast<double>(of_day_ns - start_of_day_ns_) / speed_;
  return start_ns_ + static_cast<int64_t>(after);
}

int64_t LeanSource::next_due_ns() const {
  const bool collected = lists_[kTrade].rows() > 0 || lists_[kQuote].rows() > 0;
  if (!collected && heap_.empty() && error_.ok()) return kNeverDue;
  if (speed_ == 0 || !error_.ok()) return kAlwaysDue;
  return collected ? window_due_ns_ : DueNs(streams_[heap_.front()].of_day_ns);
}

// Reads the next line of a stream; false at its end.
absl::StatusOr<bool> LeanSource::Advance(Stream& stream) {
  TS_ASSIGN_OR_RETURN(const std::optional<std::string_view> line, stream.archive->Next());
  if (!line) return false;
  const absl::Status parsed = stream.table == kTrade ? ParseLeanTrade(*line, &stream.trade)
                                                     : ParseLeanQuote(*line, &stream.quote);
  if (!parsed.ok()) {
    return DataLoss("{}: line {}: {}", stream.path, stream.archive->line(), Message(parsed));
  }
  const int64_t of_day_ns =
      stream.table == kTrade ? stream.trade.of_day_ns : stream.quote.of_day_ns;
  if (of_day_ns < stream.of_day_ns) {
    return DataLoss("{}: line {}: {} ms, expected no time before that of the line before, {} ms",
                    stream.path, stream.archive->line(), of_day_ns / 1'000'000,
                    stream.of_day_ns / 1'000'000);
  }
  stream.of_day_ns = of_day_ns;
  return true;
}

// The order of the merge. streams_ is sorted so that equal times are in the order of their streams.
bool LeanSource::Later(size_t a, size_t b) const {
  return std::pair(streams_[a].of_day_ns, a) > std::pair(streams_[b].of_day_ns, b);
}

void LeanSource::PushStream(size_t stream) {
  heap_.push_back(stream);
  std::push_heap(heap_.begin(), heap_.end(), [this](size_t a, size_t b) { return Later(a, b); });
}

absl::Status LeanSource::OpenStreams() {
  heap_.clear();
  for (size_t i = 0; i < streams_.size(); ++i) {
    Stream& stream = streams_[i];
    stream.of_day_ns = 0;
    TS_ASSIGN_OR_RETURN(stream.archive, LeanArchive::Open(stream.path));
    TS_ASSIGN_OR_RETURN(const bool has_line, Advance(stream));
    if (has_line) PushStream(i);
  }
  return absl::OkStatus();
}

absl::Status LeanSource::Rewind(const NameMap<int64_t>& rows_done) {
  error_ = absl::OkStatus();
  for (const Table table : {kTrade, kQuote}) {
    const auto found = rows_done.find(kTableNames[table]);
    rows_done_[table] = found == rows_done.end() ? 0 : found->second;
    next_row_[table] = 0;
    lists_[table].Clear();
  }
  for (Symbol& symbol : symbols_) {
    symbol.exchanges.fill({NullFloat(), NullFloat(), kNullLong, kNullLong});
  }
  TS_RETURN_IF_ERROR(OpenStreams());
  // Reads up to the first wanted row, so that Start() knows its time.
  while (!heap_.empty() && error_.ok()) {
    Stream& stream = streams_[heap_.front()];
    if (next_row_[stream.table] >= rows_done_[stream.table]) break;
    TakeRow(stream);
  }
  return absl::OkStatus();
}

// Adds the row on top of the heap to its list, unless it is done already, and reads the next one.
void LeanSource::TakeRow(Stream& stream) {
  Symbol& symbol = symbols_[stream.symbol];
  if (stream.table == kTrade) {
    AppendTrade(symbol, stream.trade);
  } else {
    AppendQuote(symbol, stream.quote);
  }
  due_ns_[stream.table] = DueNs(stream.of_day_ns);

  std::pop_heap(heap_.begin(), heap_.end(), [this](size_t a, size_t b) { return Later(a, b); });
  const size_t top = heap_.back();
  heap_.pop_back();
  const absl::StatusOr<bool> has_line = Advance(streams_[top]);
  if (!has_line.ok()) {
    error_ = has_line.status();
  } else if (*has_line) {
    PushStream(top);
  }
}

void LeanSource::AppendTrade(const Symbol& symbol, const LeanTrade& trade) {
  if (next_row_[kTrade]++ < rows_done_[kTrade]) return;
  ColumnList& list = lists_[kTrade];
  list.Append(0, date_ns_ + trade.of_day_ns);
  list.AppendSymbol(1, symbol.name);
  list.Append(2, trade.price);
  list.Append(3, trade.size);
  list.Append(4, static_cast<uint8_t>(trade.suspicious));
  list.Append(5, trade.condition);
  list.Append(6, trade.exchange);
  list.EndRow();
}

void LeanSource::AppendQuote(Symbol& symbol, const LeanQuote& quote) {
  ExchangeQuote& exchange_quote = symbol.exchanges[static_cast<size_t>(quote.exchange - 'A')];
  if (quote.bid != 0 || quote.bid_size != 0) {
    exchange_quote.bid = quote.bid;
    exchange_quote.bid_size = quote.bid_size;
  }
  if (quote.ask != 0 || quote.ask_size != 0) {
    exchange_quote.ask = quote.ask;
    exchange_quote.ask_size = quote.ask_size;
  }
  if (next_row_[kQuote]++ < rows_done_[kQuote]) return;
  ColumnList& list = lists_[kQuote];
  list.Append(0, date_ns_ + quote.of_day_ns);
  list.AppendSymbol(1, symbol.name);
  list.Append(2, exchange_quote.bid);
  list.Append(3, exchange_quote.ask);
  list.Append(4, exchange_quote.bid_size);
  list.Append(5, exchange_quote.ask_size);
  list.Append(6, quote.mode);
  list.Append(7, quote.exchange);
  list.EndRow();
}

// Merges rows that are due until one table has a batch.
void LeanSource::Fill(int64_t now_ns) {
  now_ns_ = now_ns;
  if (!heap_.empty()) window_due_ns_ = DueNs(streams_[heap_.front()].of_day_ns);
  while (!heap_.empty() && error_.ok()) {
    Stream& stream = streams_[heap_.front()];
    if (DueNs(stream.of_day_ns) > now_ns) return;
    TakeRow(stream);
    if (lists_[kTrade].rows() >= batch_rows_ || lists_[kQuote].rows() >= batch_rows_) return;
  }
}

absl::StatusOr<const FeedBatch*> LeanSource::Next(int64_t now_ns) {
  // The caller uses the last batch until now: Emit, which has encoded it, clears its list.
  if (lists_[kQuote].rows() == 0 && lists_[kTrade].rows() == 0) Fill(now_ns);
  if (lists_[kQuote].rows() > 0) return Emit(kQuote);
  if (lists_[kTrade].rows() > 0) return Emit(kTrade);
  if (!error_.ok()) return error_;
  return nullptr;
}

const FeedBatch* LeanSource::Emit(Table table) {
  ColumnList& list = lists_[table];
  data_.clear();
  list.Encode(data_);
  batch_ = {kTableNames[table], next_row_[table] - list.rows(), list.rows(), due_ns_[table],
            data_.span()};
  list.Clear();
  return &batch_;
}

}  // namespace tickstack::feed
