#include "monitor/monitor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"
#include "measure/clients/question_text.h"

namespace tickstack::monitor {
namespace {

// A longer lag means that a day is replayed, not that a row is late.
constexpr int64_t kLagMaxNs = kNsPerDay;

// The name of a counter in Sample::rdb, which holds .rdb.stats[] and .tier.stats[].
constexpr std::string_view kRowsRefused = "stats.rows_refused";
constexpr std::string_view kTierPrefix = "tier.";
constexpr std::string_view kUsedSuffix = ".used";

// Returns an atom, or the first element of a vector, as a number. nullopt: it is null, empty or not
// numeric.
std::optional<int64_t> LongOf(const Value& value) {
  if (!value.is_atom() || WidthOf(value.type()) != sizeof(int64_t) || IsFloating(value.type())) {
    return std::nullopt;
  }
  const auto number = value.as<int64_t>();
  if (number == kNullLong) return std::nullopt;
  return number;
}

// Returns element `row` of a numeric vector. nullopt: it is null, infinite or not numeric. The
// capacity of a tier that only the machine bounds is infinite.
std::optional<double> NumberAt(const Value& vector, size_t row) {
  if (!vector.is_vector() || row >= vector.count()) return std::nullopt;
  if (vector.is(Type::kLong)) {
    const int64_t number = vector.span<int64_t>()[row];
    if (number == kNullLong || number == kInfinityLong || number == -kInfinityLong) {
      return std::nullopt;
    }
    return static_cast<double>(number);
  }
  if (vector.is(Type::kInt)) {
    const int32_t number = vector.span<int32_t>()[row];
    if (number == kNullInt || number == kInfinityInt || number == -kInfinityInt) {
      return std::nullopt;
    }
    return number;
  }
  if (!vector.is(Type::kFloat)) return std::nullopt;
  const double number = vector.span<double>()[row];
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

std::string AsofQuery(std::string_view symbol) {
  return fmt::format(
      "count aj[`sym`time;select sym,time,price,size from trade where sym=`{};"
      "select sym,time,bid,ask from quote where sym=`{}]",
      symbol, symbol);
}

double NumberOf(const Sample& sample, std::string_view name) {
  const auto at = sample.rdb.find(std::string(name));
  return at == sample.rdb.end() ? 0 : at->second;
}

}  // namespace

std::vector<TierMemory> TiersOf(const Sample& sample) {
  std::vector<TierMemory> tiers;
  for (const auto& [name, number] : sample.rdb) {
    if (!name.starts_with(kTierPrefix) || !name.ends_with(kUsedSuffix)) continue;
    const std::string tier =
        name.substr(kTierPrefix.size(), name.size() - kTierPrefix.size() - kUsedSuffix.size());
    const auto of = [&](std::string_view what) {
      return NumberOf(sample, fmt::format("{}{}.{}", kTierPrefix, tier, what));
    };
    tiers.push_back(
        {tier, of("capacity"), number, of("high_water"), of("resident"), of("refused")});
  }
  return tiers;
}

Monitor::Monitor(MonitorSettings settings, OnSample on_sample)
    : settings_(std::move(settings)),
      on_sample_(std::move(on_sample)),
      newest_(settings_.tables.size()),
      asof_symbol_(settings_.asof_symbol) {
  for (const std::string& table : settings_.tables) metrics_.emplace_back(table + "_lag");
  metrics_.emplace_back("asof");
  metrics_.emplace_back("query");
}

void Monitor::OnConnected(Rdb* rdb, int64_t now_ns) {
  rdb_ = rdb;
  if (connects_++ > 0) return;
  grid_ns_ = next_due_ns_ = now_ns;
}

void Monitor::OnClockSet(int64_t ns) {
  for (int64_t* const time_ns :
       {&grid_ns_, &next_due_ns_, &rdb_due_ns_, &asked_ns_, &sample_.due_ns, &sample_.begin_ns}) {
    *time_ns += ns;
  }
}

void Monitor::OnDisconnected(int64_t) {
  rdb_ = nullptr;
  if (!running_) return;
  // Drops the unfinished sample: its due time stays, and it counts when the rdb answers again.
  running_ = false;
  next_due_ns_ = sample_.due_ns;
}

int64_t Monitor::Poll(int64_t now_ns) {
  if (rdb_ == nullptr || running_) return kNothingDue;
  if (now_ns < next_due_ns_) return next_due_ns_;
  Begin(now_ns);
  return kNothingDue;
}

int64_t Monitor::DueNs(int64_t number) const {
  // Multiples of the golden ratio's fraction are spread more evenly than random numbers.
  constexpr double kGolden = 0.6180339887498949;
  const double share = std::fmod(static_cast<double>(number) * kGolden, 1.0);
  return grid_ns_ + number * settings_.query_ns +
         static_cast<int64_t>(share * static_cast<double>(settings_.spread_ns));
}

void Monitor::Restart(int64_t now_ns) {
  for (measure::Metric& metric : metrics_) metric.Reset();
  for (Newest& newest : newest_) {
    newest.waiting_ns.clear();
    newest.has_changed = false;
  }
  samples_ = missed_ = errors_ = 0;
  connects_ = std::min<int64_t>(connects_, 1);
  grid_ns_ = now_ns;
  number_ = 0;
  if (!running_ && connects_ > 0) next_due_ns_ = now_ns;
}

void Monitor::Begin(int64_t now_ns) {
  sample_ = Sample();
  sample_.due_ns = next_due_ns_;
  sample_.begin_ns = now_ns;
  sample_.tables.resize(settings_.tables.size());
  sample_.rdb = last_.rdb;
  questions_.clear();
  for (size_t i = 0; i < settings_.tables.size(); ++i) {
    const std::string& table = settings_.tables[i];
    const bool is_bars =
        std::find(settings_.bars.begin(), settings_.bars.end(), table) != settings_.bars.end();
    questions_.push_back(
        {Topic::kNewest, i, fmt::format("exec {} time from {}", is_bars ? "max" : "last", table)});
    questions_.push_back({Topic::kRows, i, "count " + table});
  }
  if (asof_symbol_.empty()) {
    questions_.push_back({Topic::kAsofSymbol, 0, "exec last sym from trade"});
  } else {
    questions_.push_back({Topic::kAsof, 0, AsofQuery(asof_symbol_)});
  }
  if (now_ns >= rdb_due_ns_) {
    rdb_due_ns_ = now_ns + kRdbNs;
    for (const char* query : {".rdb.latency[]", ".rdb.stats[]", ".tier.stats[]"}) {
      questions_.push_back({Topic::kRdb, 0, query});
    }
  }
  running_ = true;
  asked_ = 0;
  AskNext(now_ns);
}

void Monitor::AskNext(int64_t now_ns) {
  asked_ns_ = now_ns;
  rdb_->Ask(questions_[asked_].text);
}

void Monitor::OnAnswer(const absl::StatusOr<Value>& answer, int64_t now_ns) {
  if (rdb_ == nullptr || !running_) return;
  if (answer.ok()) {
    TakeAnswer(questions_[asked_], *answer, now_ns);
  } else if (answer.status().code() == absl::StatusCode::kUnavailable) {
    return;  // OnDisconnected follows and handles it.
  } else {
    ++errors_;
    LogFailed(questions_[asked_], answer.status(), now_ns);
  }
  if (++asked_ < questions_.size()) return AskNext(now_ns);
  Finish(now_ns);
}

void Monitor::LogFailed(const Question& question, const absl::Status& why, int64_t now_ns) {
  static LogLimit limit(10 * kNsPerSecond);
  if (!limit.Pass(now_ns)) return;
  // An rdb answers before it has subscribed, and has no tables until then.
  const bool is_about_table = question.topic == Topic::kNewest || question.topic == Topic::kRows;
  if (is_about_table && !has_tables_ && Message(why) == settings_.tables[question.table]) {
    return LogInfo("the rdb has no tables yet table={}", Message(why));
  }
  LogWarn("query failed query=\"{}\" error=\"{}\"", question.text, Message(why));
}

void Monitor::TakeAnswer(const Question& question, const Value& answer, int64_t now_ns) {
  TableSample& table = sample_.tables[question.table];
  switch (question.topic) {
    case Topic::kNewest:
      has_tables_ = true;
      return TakeNewest(question.table, answer, now_ns);
    case Topic::kRows:
      table.rows = LongOf(answer);
      return;
    case Topic::kAsofSymbol:
      if (answer.is_atom_of(Type::kSymbol) && measure::IsPlainSymbol(answer.symbol())) {
        asof_symbol_ = answer.symbol();
      }
      return;
    case Topic::kAsof:
      sample_.asof_symbol = asof_symbol_;
      sample_.asof_rows = LongOf(answer);
      sample_.asof_ns = now_ns - asked_ns_;
      if (sample_.begin_ns >= grid_ns_) {
        metrics_[settings_.tables.size()].Record(now_ns, *sample_.asof_ns);
      }
      return;
    case Topic::kRdb:
      TakeRdb(question.text == ".rdb.latency[]" ? "latency"
              : question.text == ".rdb.stats[]" ? "stats"
                                                : "tier",
              answer);
      return;
  }
}

void Monitor::TakeNewest(size_t table, const Value& answer, int64_t now_ns) {
  TableSample& sample = sample_.tables[table];
  sample.newest_ns = LongOf(answer);
  if (!sample.newest_ns || *sample.newest_ns < now_ns - kLagMaxNs) return;
  sample.lag_ns = now_ns - *sample.newest_ns;
  Newest& newest = newest_[table];
  if (newest.time_ns != sample.newest_ns) {
    for (const int64_t lag_ns : newest.waiting_ns) {
      if (newest.has_changed) metrics_[table].Record(now_ns, lag_ns);
    }
    newest.waiting_ns.clear();
    newest.has_changed = newest.time_ns.has_value() || samples_ > 0;
    newest.time_ns = sample.newest_ns;
  }
  newest.waiting_ns.push_back(*sample.lag_ns);
}

// Takes numbers out of a dictionary, or out of a table whose first column names its rows.
void Monitor::TakeRdb(std::string_view prefix, const Value& answer) {
  if (answer.is_dict() && answer.keys().is(Type::kSymbol)) {
    const SymbolVector& names = answer.keys().symbols();
    for (size_t i = 0; i < names.size(); ++i) {
      if (const std::optional<double> number = NumberAt(answer.values(), i)) {
        sample_.rdb[fmt::format("{}.{}", prefix, names[i])] = *number;
      }
    }
  }
  if (!answer.is_table() || answer.columns().empty() || !answer.columns()[0].is(Type::kSymbol)) {
    return;
  }
  const SymbolVector& rows = answer.columns()[0].symbols();
  for (size_t column = 1; column < answer.columns().size(); ++column) {
    for (size_t row = 0; row < rows.size(); ++row) {
      if (const std::optional<double> number = NumberAt(answer.columns()[column], row)) {
        const std::string_view name = answer.column_names()[column];
        sample_.rdb[fmt::format("{}.{}.{}", prefix, rows[row], name)] = *number;
      }
    }
  }
}

// Warns when a tier is full. The rdb then loses rows for as long as it lives, and nothing else
// shows it: the tickerplant's log has them, and queries are answered as before.
void Monitor::WarnOfRefusedRows(int64_t now_ns) {
  const double refused = NumberOf(sample_, kRowsRefused);
  double before = NumberOf(last_, kRowsRefused);
  if (refused == before) return;
  if (refused < before) before = 0;  // The rdb was restarted.
  refused_unsaid_ += refused - before;
  if (!refused_limit_.Pass(now_ns)) return;
  std::string full;
  for (const TierMemory& tier : TiersOf(sample_)) {
    if (tier.refused > 0) full += fmt::format("{}{}", full.empty() ? "" : ",", tier.name);
  }
  LogWarn("rdb refuses rows rows={} rows_refused={} full_tiers={}",
          std::exchange(refused_unsaid_, 0), refused, full);
}

void Monitor::Finish(int64_t now_ns) {
  running_ = false;
  sample_.end_ns = now_ns;
  WarnOfRefusedRows(now_ns);
  if (sample_.begin_ns < grid_ns_) {  // The measurement was restarted meanwhile.
    last_ = sample_;
    next_due_ns_ = grid_ns_;
    return;
  }
  measure::Metric& query = metrics_.back();
  query.Record(now_ns, now_ns - sample_.due_ns);
  // Counts the questions that were due meanwhile, with the least time that their answers would have
  // taken.
  for (next_due_ns_ = DueNs(++number_); next_due_ns_ <= now_ns; next_due_ns_ = DueNs(++number_)) {
    query.Record(now_ns, now_ns - next_due_ns_);
    ++sample_.missed;
  }
  missed_ += sample_.missed;
  ++samples_;
  last_ = sample_;
  on_sample_(last_);
}

}  // namespace tickstack::monitor
