#include "cli/top_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>

#include "base/human_text.h"

namespace tickstack::cli {
namespace {

std::string CountText(std::optional<double> number, std::string_view unit = "") {
  if (!number) return "";
  constexpr double kLargest = 9e15;  // Also for infinity.
  return Thousands(std::llround(std::clamp(*number, -kLargest, kLargest))) + std::string(unit);
}

std::string BytesOrNothing(std::optional<double> bytes) { return bytes ? BytesText(*bytes) : ""; }
std::string MsOrNothing(std::optional<double> ms) { return ms ? MsText(*ms) : ""; }

std::string OutText(const ProcessFigures& figures) {
  if (figures.rows_out_per_s) return CountText(figures.rows_out_per_s);
  if (figures.messages_out_per_s) return CountText(figures.messages_out_per_s, " msg");
  return CountText(figures.queries_per_s, figures.role == "monitor" ? " samples" : " queries");
}

std::string BehindText(const ProcessFigures& figures) {
  if (figures.behind_rows) return CountText(figures.behind_rows);
  return CountText(figures.behind_messages, " msg");
}

std::string QueueText(const ProcessFigures& figures) {
  std::string text = BytesOrNothing(figures.queued_bytes);
  if (figures.queries_waiting.value_or(0) > 0) {
    if (!text.empty()) text += ", ";
    text += CountText(figures.queries_waiting, " waiting");
  }
  return text;
}

// A column, and what its rows are sorted by: a text, or a number.
struct Column {
  TopColumn id;
  std::string_view head;
  int priority;  // Columns with a higher number are left out first.
  bool is_text;
  std::string (*text)(const ProcessFigures& figures);
  std::optional<double> (*number)(const ProcessFigures& figures);
};

std::optional<double> NoNumber(const ProcessFigures& /*figures*/) { return std::nullopt; }

const Column kColumns[] = {
    {TopColumn::kName, "NAME", 0, true, [](const ProcessFigures& p) { return p.name; }, NoNumber},
    {TopColumn::kRole, "ROLE", 11, true, [](const ProcessFigures& p) { return p.role; }, NoNumber},
    {TopColumn::kState, "STATE", 1, true, [](const ProcessFigures& p) { return p.state; },
     NoNumber},
    {TopColumn::kRowsIn, "ROWS/S IN", 2, false,
     [](const ProcessFigures& p) { return CountText(p.rows_in_per_s); },
     [](const ProcessFigures& p) { return p.rows_in_per_s; }},
    {TopColumn::kOut, "ROWS/S OUT", 3, false, OutText,
     [](const ProcessFigures& p) {
       return p.rows_out_per_s       ? p.rows_out_per_s
              : p.messages_out_per_s ? p.messages_out_per_s
                                     : p.queries_per_s;
     }},
    {TopColumn::kBehind, "BEHIND", 4, false, BehindText,
     [](const ProcessFigures& p) { return p.behind_rows ? p.behind_rows : p.behind_messages; }},
    {TopColumn::kLag, "LAG", 5, false,
     [](const ProcessFigures& p) { return MsOrNothing(p.lag_ms); },
     [](const ProcessFigures& p) { return p.lag_ms; }},
    {TopColumn::kP50, "P50", 8, false,
     [](const ProcessFigures& p) { return MsOrNothing(p.p50_ms); },
     [](const ProcessFigures& p) { return p.p50_ms; }},
    {TopColumn::kP99, "P99", 6, false,
     [](const ProcessFigures& p) { return MsOrNothing(p.p99_ms); },
     [](const ProcessFigures& p) { return p.p99_ms; }},
    {TopColumn::kMemory, "MEMORY", 7, false,
     [](const ProcessFigures& p) { return BytesOrNothing(p.memory_bytes); },
     [](const ProcessFigures& p) { return p.memory_bytes; }},
    {TopColumn::kQueue, "QUEUE", 9, false, QueueText,
     [](const ProcessFigures& p) { return p.queued_bytes; }},
    {TopColumn::kClients, "CLIENTS", 10, false,
     [](const ProcessFigures& p) { return CountText(p.clients); },
     [](const ProcessFigures& p) { return p.clients; }},
};
constexpr int kColumnCount = static_cast<int>(std::size(kColumns));
constexpr size_t kGap = 2;  // Blanks between columns.

// Returns the processes in their order on the screen.
std::vector<const ProcessFigures*> Sorted(const StackFigures& figures, const TopOrder& order) {
  std::vector<const ProcessFigures*> sorted;
  for (const ProcessFigures& process : figures.processes) sorted.push_back(&process);
  if (!order.by_column) return sorted;
  const Column& by = kColumns[static_cast<int>(order.column)];
  std::ranges::stable_sort(sorted, [&by](const ProcessFigures* a, const ProcessFigures* b) {
    if (by.is_text) return by.text(*a) < by.text(*b);
    return by.number(*a).value_or(-1) > by.number(*b).value_or(-1);
  });
  return sorted;
}

struct Grid {
  std::vector<const Column*> columns;
  std::vector<size_t> widths;
  std::vector<std::vector<std::string>> rows;  // The first has the heads.

  size_t width() const {
    return std::accumulate(widths.begin(), widths.end(), kGap * (widths.size() - 1));
  }
  void Drop(size_t column) {
    const auto at = static_cast<ptrdiff_t>(column);
    columns.erase(columns.begin() + at);
    widths.erase(widths.begin() + at);
    for (std::vector<std::string>& row : rows) row.erase(row.begin() + at);
  }
};

Grid GridOf(const std::vector<const ProcessFigures*>& processes, const TopOrder& order) {
  Grid grid;
  grid.rows.resize(processes.size() + 1);
  for (const Column& column : kColumns) {
    grid.columns.push_back(&column);
    const bool sorts = order.by_column && column.id == order.column;
    grid.rows[0].push_back(fmt::format("{}{}", sorts ? "*" : "", column.head));
    for (size_t i = 0; i < processes.size(); ++i) {
      grid.rows[i + 1].push_back(column.text(*processes[i]));
    }
    size_t width = 0;
    for (const std::vector<std::string>& row : grid.rows) {
      width = std::max(width, row.back().size());
    }
    grid.widths.push_back(width);
  }
  return grid;
}

// Leaves out columns, but not the first, until a row fits.
void Fit(Grid& grid, size_t width) {
  while (grid.columns.size() > 1 && grid.width() > width) {
    const auto least = std::ranges::max_element(grid.columns, {}, &Column::priority);
    grid.Drop(static_cast<size_t>(least - grid.columns.begin()));
  }
}

void AddTable(const StackFigures& figures, const TopView& view, std::vector<std::string>& lines) {
  Grid grid = GridOf(Sorted(figures, view.order), view.order);
  Fit(grid, view.width);
  for (const std::vector<std::string>& row : grid.rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line.append(kGap, ' ');
      line += grid.columns[i]->is_text ? fmt::format("{:<{}}", row[i], grid.widths[i])
                                       : fmt::format("{:>{}}", row[i], grid.widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
}

std::string TierLine(const TierFigure& tier) {
  std::string line = fmt::format("  {} {}: {}", tier.rdb, tier.tier, BytesText(tier.used_bytes));
  if (tier.capacity_bytes) {
    line += fmt::format(" of {}, {:.0f} %", BytesText(*tier.capacity_bytes),
                        100 * tier.used_bytes / *tier.capacity_bytes);
  }
  if (tier.refused > 0) line += fmt::format(", refused {}", CountText(tier.refused));
  return line;
}

std::string KeysLine(const TopView& view) {
  return fmt::format("q quit  s or arrows: sort by {}  p {}",
                     view.order.by_column ? NameOf(view.order.column) : "stack",
                     view.paused ? "continue (paused)" : "pause");
}

using Json = nlohmann::ordered_json;

Json JsonOf(const std::optional<double>& number) {
  return number ? nlohmann::ordered_json(*number) : nlohmann::ordered_json();
}

}  // namespace

std::string_view NameOf(TopColumn column) { return kColumns[static_cast<int>(column)].head; }

void TopOrder::Step(int direction) {
  const int at = by_column ? static_cast<int>(column) : kColumnCount;
  const int next = (at + direction + kColumnCount + 1) % (kColumnCount + 1);
  by_column = next != kColumnCount;
  column = by_column ? static_cast<TopColumn>(next) : TopColumn::kName;
}

std::vector<std::string> TopLines(const StackFigures& figures, const TopView& view) {
  const auto answering = std::ranges::count_if(figures.processes, &ProcessFigures::answers);
  std::vector<std::string> lines = {fmt::format("{}  {}  {} of {} processes answer{}{}", view.time,
                                                view.title, answering, figures.processes.size(),
                                                figures.day.empty() ? "" : "  day ", figures.day)};
  lines.emplace_back();
  AddTable(figures, view, lines);
  if (!figures.problems.empty()) {
    lines.insert(lines.end(), {"", "problems"});
    for (const std::string& problem : figures.problems) lines.push_back("  " + problem);
  }
  if (!figures.tiers.empty()) {
    lines.insert(lines.end(), {"", "memory tiers"});
    for (const TierFigure& tier : figures.tiers) lines.push_back(TierLine(tier));
  }
  const size_t kept = view.height - (view.has_keys && view.height > 0 ? 1 : 0);
  if (lines.size() > kept) lines.resize(kept);
  if (view.has_keys && view.height > 0) lines.push_back(KeysLine(view));
  for (std::string& line : lines) {
    if (line.size() > view.width) line.resize(view.width);
  }
  return lines;
}

std::string TopJson(const StackFigures& figures) {
  Json json = {{"day", figures.day.empty() ? Json() : Json(figures.day)},
               {"processes", Json::array()},
               {"tiers", Json::array()},
               {"problems", figures.problems}};
  for (const ProcessFigures& each : figures.processes) {
    json["processes"].push_back({{"name", each.name},
                                 {"role", each.role},
                                 {"state", each.state},
                                 {"answers", each.answers},
                                 {"rows_in_per_s", JsonOf(each.rows_in_per_s)},
                                 {"rows_out_per_s", JsonOf(each.rows_out_per_s)},
                                 {"messages_out_per_s", JsonOf(each.messages_out_per_s)},
                                 {"queries_per_s", JsonOf(each.queries_per_s)},
                                 {"behind_rows", JsonOf(each.behind_rows)},
                                 {"behind_messages", JsonOf(each.behind_messages)},
                                 {"lag_ms", JsonOf(each.lag_ms)},
                                 {"p50_ms", JsonOf(each.p50_ms)},
                                 {"p99_ms", JsonOf(each.p99_ms)},
                                 {"memory_bytes", JsonOf(each.memory_bytes)},
                                 {"queued_bytes", JsonOf(each.queued_bytes)},
                                 {"queries_waiting", JsonOf(each.queries_waiting)},
                                 {"clients", JsonOf(each.clients)}});
  }
  for (const TierFigure& each : figures.tiers) {
    json["tiers"].push_back({{"rdb", each.rdb},
                             {"tier", each.tier},
                             {"used_bytes", each.used_bytes},
                             {"capacity_bytes", JsonOf(each.capacity_bytes)},
                             {"refused", each.refused}});
  }
  return json.dump(2) + "\n";
}

}  // namespace tickstack::cli
