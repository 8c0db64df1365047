#include "tests/simulate/gateway_truth.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <set>
#include <utility>

#include "base/status.h"

namespace tickstack::simulate {
namespace {

using Kind = GatewayQuestion::Kind;

// Rows of an answer, whatever its form.
int64_t RowsIn(const GatewayQuestion& question, const GatewayAnswer& answer) {
  int64_t rows = answer.count + static_cast<int64_t>(answer.rows.size());
  for (const auto& [feed, counted] : answer.feeds) rows += counted.count;
  if (question.kind == Kind::kByDate) {
    for (const auto& [date, feeds] : answer.dates) {
      for (const auto& [feed, counted] : feeds) rows += counted.count;
    }
  }
  return rows;
}

// Adds rows that follow.
void Add(const CountedRows& more, CountedRows& to) {
  if (to.count == 0) {
    to = more;
    return;
  }
  to.count += more.count;
  to.sum += more.sum;
  to.high = to.last = more.last;
}

// A partition has the rows by symbol, and those of a symbol by time. A feed's are in their order.
bool IsBySymbol(std::span<const AnsweredRow> rows, std::span<const AnsweredRow> expected) {
  std::map<std::string, std::map<std::string, std::vector<AnsweredRow>>> found, logged;
  const std::string* last = nullptr;
  for (const AnsweredRow& row : rows) {
    const bool is_next = last == nullptr || *last != row.sym;
    if (is_next && found.contains(row.sym)) return false;
    last = &row.sym;
    found[row.sym][row.feed].push_back(row);
  }
  for (const AnsweredRow& row : expected) logged[row.sym][row.feed].push_back(row);
  return found == logged;
}

}  // namespace

absl::StatusOr<GatewayTruth> GatewayTruth::Read(const StackOptions& options, int32_t first,
                                                int32_t last) {
  GatewayTruth truth;
  for (int32_t date = first; date <= last; ++date) {
    TS_ASSIGN_OR_RETURN(const TableTexts texts, TextsOfLog(options.LogPath(date)));
    for (const Schema& schema : SourceSchemas()) {
      Day& day = truth.tables_[schema.table][date];
      const auto rows = texts.find(schema.table);
      const auto feed_column = static_cast<size_t>(schema.Find("feed"));
      const size_t count = rows == texts.end() ? 0 : rows->second.size();
      for (size_t i = 0; i < count; ++i) {
        const std::string& text = rows->second[i];
        day.rows.push_back(
            {Cell(text, 1), Cell(text, feed_column), std::stoll(Cell(text, feed_column + 1))});
        day.first.try_emplace(day.rows.back().feed, day.rows.back().number);
      }
      for (const auto& [feed, number] : day.first) {
        std::vector<int64_t>& counts = day.counts[feed];
        counts.push_back(0);
        for (const AnsweredRow& row : day.rows) {
          counts.push_back(counts.back() + (row.feed == feed ? 1 : 0));
        }
      }
    }
  }
  return truth;
}

int64_t GatewayTruth::rows() const {
  int64_t rows = 0;
  for (const auto& [table, days] : tables_) {
    for (const auto& [date, day] : days) rows += static_cast<int64_t>(day.rows.size());
  }
  return rows;
}

int64_t GatewayTruth::RowsOf(const std::string& table, int32_t date) const {
  return static_cast<int64_t>(tables_.at(table).at(date).rows.size());
}

// Feeds number their rows without gaps, and the log has each once and in order.
GatewayTruth::Counted GatewayTruth::Count(const Days& days, std::span<const Part> parts) {
  Counted counted;
  for (const Part& part : parts) {
    const Day& day = days.at(part.date);
    for (const auto& [feed, counts] : day.counts) {
      const int64_t count = counts[static_cast<size_t>(part.rows)];
      if (count == 0) continue;
      const int64_t low = day.first.at(feed), high = low + count - 1;
      Add({count, (low + high) * count / 2, low, high, low, high}, counted[feed]);
    }
  }
  return counted;
}

// Returns the first `rows` rows from the beginning of a day on.
std::vector<GatewayTruth::Part> GatewayTruth::PartsFrom(const Days& days, int32_t date,
                                                        int64_t rows) {
  std::vector<Part> parts;
  for (auto day = days.find(date); day != days.end(); ++day) {
    const int64_t taken = std::min(rows, static_cast<int64_t>(day->second.rows.size()));
    parts.push_back({day->first, taken});
    rows -= taken;
  }
  return rows > 0 ? std::vector<Part>() : parts;
}

// True if the rows are those of the parts: in the order of the log, or of a partition.
bool GatewayTruth::HasRows(const Days& days, std::span<const Part> parts,
                           std::span<const AnsweredRow> rows) {
  std::vector<AnsweredRow> expected;
  for (const Part& part : parts) {
    const std::vector<AnsweredRow>& all = days.at(part.date).rows;
    expected.insert(expected.end(), all.begin(), all.begin() + part.rows);
  }
  if (std::ranges::equal(rows, expected)) return true;
  const bool is_whole = parts.size() == 1 && expected.size() == days.at(parts[0].date).rows.size();
  return is_whole && IsBySymbol(rows, expected);
}

bool GatewayTruth::Agrees(const Days& days, std::span<const Part> parts,
                          const GatewayQuestion& question, const GatewayAnswer& answer) {
  switch (question.kind) {
    case Kind::kCountOfAll:
    case Kind::kCount:
      return true;
    case Kind::kRowsOfAll:
    case Kind::kRows:
      return HasRows(days, parts, answer.rows);
    default:
      break;
  }
  if (Count(days, parts) != answer.feeds) return false;
  return std::ranges::all_of(answer.medians, [&](const auto& median) {
    const CountedRows& counted = answer.feeds.at(median.first);
    const bool has_gap = counted.high - counted.low + 1 != counted.count;
    return has_gap || 2 * median.second == static_cast<double>(counted.low + counted.high);
  });
}

// Returns how many rows were logged up to a position, from the first day on.
int64_t GatewayTruth::Place(const Days& days, const std::string& table,
                            const LogPosition& position) {
  int64_t place = 0;
  for (const auto& [date, day] : days) {
    if (date < position.day) place += static_cast<int64_t>(day.rows.size());
  }
  const auto rows = position.rows.find(table);
  return place + (rows == position.rows.end() ? 0 : rows->second);
}

// Returns how many rows an answer must have of a day. `is_there`: it has some.
int64_t GatewayTruth::Least(const Days& days, const std::string& table, int32_t date, bool is_there,
                            const LeastRows& least) {
  if (const auto ended = least.ended.find(date); ended != least.ended.end()) {
    return ended->second || is_there ? static_cast<int64_t>(days.at(date).rows.size()) : 0;
  }
  const auto begun = least.begun.find(date);
  const bool is_known = begun != least.begun.end() && begun->second;
  if (!is_known && !is_there) return 0;
  int64_t rows = 0;
  const auto add = [&](const LogPosition& position) {
    const auto of_table = position.rows.find(table);
    if (of_table != position.rows.end()) rows = std::max(rows, of_table->second);
  };
  if (const auto day = least.days.find(date); day != least.days.end()) add(day->second);
  if (least.fresh && least.fresh->day == date) add(*least.fresh);
  return rows;
}

// The rows of an rdb: from the beginning of a day on, up to the newest.
std::string GatewayTruth::FindWrongOfAll(const Days& days, const GatewayQuestion& question,
                                         const GatewayAnswer& answer, const LeastRows& least) {
  const int64_t rows = RowsIn(question, answer);
  int64_t place_min = std::numeric_limits<int64_t>::max(), place_found = -1;
  for (const LogPosition& position : least.rdbs) {
    place_min = std::min(place_min, Place(days, question.table, position));
  }
  if (least.rdbs.empty()) place_min = 0;
  if (least.fresh) place_min = std::max(place_min, Place(days, question.table, *least.fresh));
  for (const auto& [date, day] : days) {
    const std::vector<Part> parts = PartsFrom(days, date, rows);
    if (parts.empty() || !Agrees(days, parts, question, answer)) continue;
    place_found = std::max(place_found, Place(days, question.table, {date, {}}) + rows);
  }
  if (place_found < 0) return fmt::format("{} rows, which no rdb has", rows);
  if (place_found >= place_min) return "";
  return fmt::format("rows up to {}, expected at least {}", place_found, place_min);
}

std::string GatewayTruth::FindWrongOfDays(const Days& days, const GatewayQuestion& question,
                                          const GatewayAnswer& answer, const LeastRows& least) {
  const int64_t rows = RowsIn(question, answer);
  const auto size_of = [&](int32_t date) {
    const auto day = days.find(date);
    return day == days.end() ? 0 : static_cast<int64_t>(day->second.rows.size());
  };
  bool agrees = false;
  const int64_t second_max = question.day == question.last_day ? 0 : size_of(question.last_day);
  for (int64_t first = std::max<int64_t>(0, rows - second_max);
       first <= std::min(rows, size_of(question.day)); ++first) {
    std::vector<Part> parts;
    bool has_enough = true;
    for (const auto& [date, taken] :
         {std::pair(question.day, first), std::pair(question.last_day, rows - first)}) {
      if (!days.contains(date) || (!parts.empty() && date == question.day)) continue;
      parts.push_back({date, taken});
      has_enough &= taken >= Least(days, question.table, date, taken > 0, least);
    }
    if (!Agrees(days, parts, question, answer)) continue;
    if (has_enough) return "";
    agrees = true;
  }
  std::string expected;
  for (int32_t date = question.day; date <= question.last_day; ++date) {
    if (!days.contains(date)) continue;
    expected += fmt::format("; {} has {} in the end, expected at least {}", FormatDate(date),
                            size_of(date), Least(days, question.table, date, rows > 0, least));
  }
  return fmt::format("{} rows{}{}", rows, agrees ? "" : " that are not the first ones", expected);
}

std::string GatewayTruth::FindWrongDates(const GatewayAnswer& answer,
                                         const LeastRows& least) const {
  for (const auto& [date, feeds] : answer.dates) {
    if (!tables_.begin()->second.contains(date)) return "a day that never was: " + FormatDate(date);
  }
  for (const auto* const must : {&least.ended, &least.begun}) {
    for (const auto& [date, is_known] : *must) {
      if (is_known && !answer.dates.contains(date)) return "no " + FormatDate(date);
    }
  }
  return "";
}

std::string GatewayTruth::FindWrong(const GatewayQuestion& question, const GatewayAnswer& answer,
                                    const LeastRows& least) const {
  if (question.kind == Kind::kDates) return FindWrongDates(answer, least);
  const Days& days = tables_.at(question.table);
  if (!question.NamesDays()) return FindWrongOfAll(days, question, answer, least);
  if (question.kind != Kind::kByDate) return FindWrongOfDays(days, question, answer, least);
  for (const auto& [date, feeds] : answer.dates) {
    if (!days.contains(date)) return "a day that never was: " + FormatDate(date);
  }
  for (const auto& [date, day] : days) {
    GatewayAnswer of_day;
    if (const auto found = answer.dates.find(date); found != answer.dates.end()) {
      of_day.feeds = found->second;
    }
    const std::string wrong =
        FindWrongOfDays(days, {Kind::kOfDay, question.table, date, date}, of_day, least);
    if (!wrong.empty()) return FormatDate(date) + ": " + wrong;
  }
  return "";
}

}  // namespace tickstack::simulate
