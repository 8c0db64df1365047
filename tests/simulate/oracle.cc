#include "tests/simulate/oracle.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "disk/partition_name.h"
#include "table/types.h"
#include "tests/simulate/exchange_check.h"
#include "tickerplant/day_closers.h"
#include "tplog/log_identity.h"
#include "tplog/tplog_state.h"

namespace tickstack::simulate {
namespace {

bool IsBars(std::string_view table) { return FindSchema(table)->key_columns > 0; }

// The last row of each key.
RowTexts LastOfKeys(const Schema& schema, const RowTexts& rows) {
  std::map<std::string, std::string> last;
  for (const std::string& row : rows) {
    std::string key;
    for (size_t i = 0; i < schema.key_columns; ++i) key += Cell(row, i) + "|";
    last[key] = row;
  }
  RowTexts texts;
  for (auto& [key, row] : last) texts.push_back(std::move(row));
  return texts;
}

// As a partition has them: by symbol, then by time, then in the order of the log. Times have the
// same number of digits, so they are ordered as their texts are.
TableTexts BySymbol(TableTexts tables) {
  for (const Schema& schema : KnownSchemas()) {
    const auto sym = static_cast<size_t>(schema.Find("sym"));
    const auto time = static_cast<size_t>(schema.Find("time"));
    std::ranges::stable_sort(tables[schema.table], {}, [sym, time](const std::string& row) {
      return std::pair(Cell(row, sym), Cell(row, time));
    });
  }
  return tables;
}

// In the order of the rows' numbers, for tables of feeds.
TableTexts ByNumber(TableTexts tables) {
  for (const Schema& schema : KnownSchemas()) {
    if (schema.Find("n") < 0) continue;
    const auto number = static_cast<size_t>(schema.Find("n"));
    std::ranges::stable_sort(tables[schema.table], {}, [number](const std::string& row) {
      return std::stoll(Cell(row, number));
    });
  }
  return tables;
}

RowTexts Sorted(RowTexts rows) {
  std::ranges::sort(rows);
  return rows;
}

// Computes bars by their definition.
RowTexts BarsOf(const aggengine::BarSpec& spec, const RowTexts& log) {
  struct Row {
    int64_t time_ns;
    double x;
    int64_t size;
  };
  std::map<std::pair<std::string, int64_t>, std::vector<Row>> bars;
  for (const std::string& row : log) {
    const int64_t time_ns = std::stoll(Cell(row, 0));
    bars[{Cell(row, 1), time_ns / spec.width_ns * spec.width_ns}].push_back(
        {time_ns, std::stod(Cell(row, 2)), spec.table == "trade" ? std::stoll(Cell(row, 3)) : 0});
  }
  RowTexts texts;
  for (auto& [key, rows] : bars) {
    std::ranges::stable_sort(rows, {}, &Row::time_ns);
    std::string text = fmt::format("{}|{}|{}", key.first, key.second, rows.back().time_ns);
    if (spec.table == "trade") {
      const auto [low, high] = std::ranges::minmax_element(rows, {}, &Row::x);
      int64_t volume = 0;
      for (const Row& row : rows) volume += row.size;
      text +=
          fmt::format("|{}|{}|{}|{}|{}", rows.front().x, high->x, low->x, rows.back().x, volume);
    } else {
      text += fmt::format("|{}", rows.back().x);
    }
    texts.push_back(text + fmt::format("|{}", rows.size()));
  }
  return texts;
}

// Erases the bars of the day before that began before this day did, at `begin_ns` or when the day
// before no longer waited for its closers, if the log has no rows of them. An engine that loses its
// connection while that day ends publishes them in the next log.
void EraseBarsOfTheDayBefore(int64_t begin_ns, const RowTexts& expected, RowTexts& bars) {
  constexpr int64_t kWaitNsMax = tickerplant::DayClosers::kWaitNsMax + kNsPerSecond;
  const int64_t until_ns = begin_ns == kNullLong ? begin_ns : begin_ns + kWaitNsMax;
  const auto key_of = [](const std::string& bar) { return Cell(bar, 0) + "|" + Cell(bar, 1); };
  std::set<std::string> keys;
  for (const std::string& bar : expected) keys.insert(key_of(bar));
  std::erase_if(bars, [&](const std::string& bar) {
    return std::stoll(Cell(bar, 1)) < until_ns && !keys.contains(key_of(bar));
  });
}

const RowTexts& Of(const TableTexts& tables, std::string_view table) {
  static const RowTexts none;
  const auto found = tables.find(table);
  return found == tables.end() ? none : found->second;
}

}  // namespace

void Oracle::Fail(std::string what) {
  LogError("oracle: {}", what);
  if (failure_.empty()) failure_ = std::move(what);
}

void Oracle::OnAcknowledged(const std::string& feed, const NameMap<int64_t>& rows, int64_t now_ns) {
  for (Feed& each : feeds_) {
    if (each.name != feed || !each.knows) continue;
    bool more = false;
    for (const auto& [table, count] : rows) {
      more |= count > each.acknowledged[table];
      each.acknowledged[table] = std::max(each.acknowledged[table], count);
    }
    if (more) each.history.emplace_back(now_ns, each.acknowledged);
  }
}

void Oracle::OnState(const std::string& feed, bool asks) {
  for (Feed& each : feeds_) {
    if (each.name != feed) continue;
    each.knows |= each.asks && !asks;  // It has its answer.
    each.asks = asks;
  }
}

void Oracle::OnPowerCut(World& world, const PowerCut& cut) {
  const bool any = cut.fsync == tplog::FsyncPolicy::kNone || cut.dropped;
  may_be_damaged_ = may_be_damaged_ || cut.dropped;
  may_lose_anything_ =
      may_lose_anything_ || may_be_damaged_ || ((any || cut.was_none) && HasUnsyncedEndedDay());
  if (cut.fsync == tplog::FsyncPolicy::kBatch && !cut.dropped) return;
  may_lose_published_ = true;
  receipts_count_ = receipts_count_ && !any;
  const int64_t synced_ns = world.MonotonicNs() - cut.unsynced_ns_max;
  for (Feed& feed : feeds_) {
    while (!feed.history.empty() && feed.history.back().first > synced_ns) feed.history.pop_back();
    feed.acknowledged =
        feed.history.empty() ? decltype(feed.acknowledged)() : feed.history.back().second;
    feed.knows = feed.asks = false;
  }
  may_be_lost_.resize(told_.answers.size());
  for (size_t n = 0; n < told_.answers.size(); ++n) {
    // An answer may still be on its way.
    const bool waits = n < told_.next && told_.answers[n] == Told::Answer::kNone;
    if (any || waits || told_.times_ns[n] > synced_ns) may_be_lost_[n] = true;
  }
}

// The tickerplant notes that a log is closed only after it repaired and synced it.
bool Oracle::HasUnsyncedEndedDay() const {
  std::map<int32_t, std::string> logs;
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator(options_.LogFolder(), absent)) {
    const std::string name = entry.path().filename();
    if (const auto date = ParseDate(std::string_view(name).substr(3))) logs[*date] = entry.path();
  }
  for (const auto& [date, path] : logs) {
    const absl::StatusOr<tplog::TplogState> state = tplog::ReadTplogState(path);
    const bool is_past = date != logs.rbegin()->first || (state.ok() && state->ended);
    if (is_past && (!state.ok() || state->open)) return true;
  }
  return false;
}

void Oracle::OnTickerplant(const tickerplant::Tickerplant& plant,
                           const std::vector<const Recorder*>& subscribers, bool is_damaged) {
  for (const Feed& feed : feeds_) {
    if (!receipts_count_) break;
    const std::vector<int64_t> logged = plant.LoggedFeedRows(feed.name);
    for (const auto& [table, rows] : feed.acknowledged) {
      const int64_t found = logged[static_cast<size_t>(plant.FindTable(table))];
      if (found < rows) {
        Fail(fmt::format("the log has {} rows of {} of {}, {} were acknowledged", found, table,
                         feed.name, rows));
      }
    }
  }
  const absl::StatusOr<TableTexts> log = TextsOfLog(plant.log().path());
  if (!log.ok() && is_damaged && absl::IsDataLoss(log.status())) return;
  if (!log.ok()) return Fail(fmt::format("log after a start: {}", Message(log.status())));
  for (const Recorder* const subscriber : subscribers) {
    const std::string_view seen = subscriber->log().path;
    if (tplog::DayOfLog(seen) != plant.date() || subscriber->is_incomplete()) continue;
    // It does not know yet that a power cut shortened the log.
    const bool knows_cuts = subscriber->log().cuts >= plant.log().state().cuts.size();
    if (!knows_cuts && may_lose_published_) continue;
    for (const auto& [table, rows] : subscriber->rows()) {
      const RowTexts& logged = Of(*log, table);
      if (rows.size() > logged.size() || !std::equal(rows.begin(), rows.end(), logged.begin())) {
        Fail(fmt::format("{}: {} rows were published that are not the first of {} logged rows",
                         table, rows.size(), logged.size()));
      }
    }
  }
}

void Oracle::CheckSame(const std::string& where, const RowTexts& found, const RowTexts& expected) {
  if (found == expected) return;
  const size_t at = static_cast<size_t>(std::ranges::mismatch(found, expected).in1 - found.begin());
  Fail(fmt::format("{}: {} rows, expected {}; row {} is {}, expected {}", where, found.size(),
                   expected.size(), at, at < found.size() ? found[at] : "none",
                   at < expected.size() ? expected[at] : "none"));
}

// A feed's rows of all days are its first rows, each once and in order.
void Oracle::CheckFeeds(const std::map<int32_t, TableTexts>& days) {
  for (const Feed& feed : feeds_) {
    for (const auto& [table, plan] : *feed.plan) {
      const size_t feed_column = static_cast<size_t>(FindSchema(table)->Find("feed"));
      size_t next = 0;
      for (const auto& [date, tables] : days) {
        for (const std::string& row : Of(tables, table)) {
          if (Cell(row, feed_column) != feed.name) continue;
          ++rows_;
          const auto n = static_cast<size_t>(std::stoll(Cell(row, feed_column + 1)));
          const bool continues = may_lose_anything_ ? n >= next : n == next;
          // An index that is damaged too does not tell how far its feeds were. The tickerplant
          // reports that their rows may be logged twice.
          if (!continues && !may_be_damaged_) {
            return Fail(
                fmt::format("{} of {}: row {} is logged where row {} is expected, log of {}", table,
                            feed.name, n, next, FormatDate(date)));
          }
          const std::string planned =
              n < plan.size() ? TextOf(table, feed.name, n, plan[n]) : std::string();
          // A day whose log was removed has its partition only.
          if (row != planned && row != AsStored({{table, {planned}}})[table].front()) {
            return Fail(fmt::format("{} of {}: row {} is logged as {}", table, feed.name, n, row));
          }
          next = n + 1;
        }
      }
      if (next != plan.size() && !may_lose_anything_) {
        Fail(
            fmt::format("{} of {}: {} rows of {} are logged", table, feed.name, next, plan.size()));
      }
    }
  }
}

void Oracle::CheckTeller(const std::map<int32_t, TableTexts>& days) {
  const std::vector<PlannedRow>& plan = teller_.find("trade")->second;
  std::vector<bool> logged(plan.size());
  size_t next = 0;
  for (const auto& [date, tables] : days) {
    for (const std::string& row : Of(tables, "trade")) {
      if (Cell(row, 4) != "teller") continue;
      const auto n = static_cast<size_t>(std::stoll(Cell(row, 5)));
      if (n < next || n >= plan.size() || row != TextOf("trade", "teller", n, plan[n])) {
        return Fail(
            fmt::format("trade of teller: row {} is logged as {}, after row {}", n, row, next));
      }
      next = n + 1;
      logged[n] = true;
    }
  }
  may_be_lost_.resize(plan.size());
  for (size_t n = 0; n < told_.answers.size(); ++n) {
    if (told_.answers[n] == Told::Answer::kLogged && !logged[n] && !may_be_lost_[n]) {
      Fail(fmt::format("trade of teller: row {} was acknowledged and is not logged", n));
    }
    if (told_.answers[n] == Told::Answer::kRefused && logged[n]) {
      Fail(fmt::format("trade of teller: row {} was refused and is logged", n));
    }
  }
}

void Oracle::CheckBars(const std::string& where, const TableTexts& log, int64_t troubled_ns) {
  for (const aggengine::BarSpec& spec : BarSpecs()) {
    RowTexts bars = LastOfKeys(*FindSchema(spec.name), Of(log, spec.name));
    RowTexts expected = BarsOf(spec, Of(log, spec.table));
    EraseBarsOfTheDayBefore(troubled_ns, expected, bars);
    CheckSame(fmt::format("{}, {}", where, spec.name), Sorted(std::move(bars)),
              Sorted(std::move(expected)));
  }
}

void Oracle::CheckSameTables(const std::string& where, const TableTexts& found,
                             const TableTexts& log) {
  for (const Schema& schema : KnownSchemas()) {
    const RowTexts &rows = Of(found, schema.table), &logged = Of(log, schema.table);
    const std::string place = fmt::format("{}, {}", where, schema.table);
    if (IsBars(schema.table)) {
      CheckSame(place, Sorted(LastOfKeys(schema, rows)), Sorted(LastOfKeys(schema, logged)));
    } else {
      CheckSame(place, rows, logged);
    }
  }
}

// Adds the days whose logs were removed: only their partitions have their rows.
absl::Status Oracle::AddRemovedDays(int32_t today, std::map<int32_t, TableTexts>& days,
                                    std::vector<int32_t>& removed) const {
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator(options_.Database(), absent)) {
    const std::optional<int32_t> date = ParseDate(entry.path().filename().string());
    if (!date || *date >= today || days.contains(*date)) continue;
    TS_ASSIGN_OR_RETURN(days[*date], TextsOfPartition(options_.Database(), *date));
    removed.push_back(*date);
  }
  return absl::OkStatus();
}

void Oracle::CheckEnd(const End& end) {
  std::map<int32_t, TableTexts> days;
  std::vector<int32_t> removed;
  for (const auto& entry : std::filesystem::directory_iterator(options_.LogFolder())) {
    const std::string name = entry.path().filename();
    const std::optional<int32_t> date = ParseDate(std::string_view(name).substr(3));
    if (!date) continue;
    absl::StatusOr<TableTexts> log = TextsOfLog(entry.path());
    if (!log.ok() && may_be_damaged_ && absl::IsDataLoss(log.status())) continue;
    if (!log.ok()) return Fail(fmt::format("{}: {}", name, Message(log.status())));
    days[*date] = *std::move(log);
  }
  const int32_t today = end.plant.date();
  if (const absl::Status added = AddRemovedDays(today, days, removed); !added.ok()) {
    return Fail(fmt::format("a day whose log was removed: {}", Message(added)));
  }
  std::map<int32_t, TableTexts> by_number = days;
  for (const int32_t date : removed) by_number[date] = ByNumber(std::move(by_number[date]));
  CheckRows(by_number);
  if (end.exchange != nullptr && !may_be_damaged_) {
    std::string wrong = FindWrongExchangeRows(
        *end.exchange, {days, {removed.begin(), removed.end()}, may_lose_anything_});
    if (!wrong.empty()) Fail(std::move(wrong));
  }
  for (const auto& [date, log] : days) {
    const std::string day = FormatDate(date);
    const auto is_calm = [&end](int32_t ended) {
      return std::ranges::find(end.calm_days, ended) != end.calm_days.end();
    };
    const bool calm = is_calm(date);
    const bool is_removed = std::ranges::find(removed, date) != removed.end();
    if (date == today || (calm && !may_lose_anything_)) {
      const auto begin = end.begins_ns.find(date);
      const bool troubled = begin != end.begins_ns.end() && !is_calm(date - 1);
      CheckBars("bars of " + day, log, troubled ? begin->second : kNullLong);
    }
    if (date == today) {
      TableTexts tables;
      for (const Schema& schema : KnownSchemas()) {
        if (const std::optional<Snapshot> table = end.rdb.FindTable(schema.table)) {
          tables[schema.table] = TextsOf(*table);
        }
      }
      CheckSameTables("rdb", tables, log);
    } else if (expects_partitions()) {
      const absl::StatusOr<TableTexts> partition = TextsOfPartition(options_.Database(), date);
      if (!partition.ok()) {
        Fail(fmt::format("partition {}: {}", day, Message(partition.status())));
      } else {
        CheckSameTables("partition " + day, *partition, is_removed ? log : AsStored(BySymbol(log)));
        if (const absl::Status sound = CheckPartition(options_.Database(), date); !sound.ok()) {
          Fail(fmt::format("partition {}: {}", day, Message(sound)));
        }
      }
    }
    for (const Recorder* const recorder : end.recorders) {
      if (date == today) CheckSameTables("subscriber", recorder->rows(), log);
      const auto ended = recorder->ended().find(date);
      if (ended != recorder->ended().end() && ended->second && expects_partitions()) {
        CheckSameTables("subscriber at the end of " + day,
                        is_removed ? AsStored(BySymbol(*ended->second)) : *ended->second, log);
      }
    }
  }
}

}  // namespace tickstack::simulate
