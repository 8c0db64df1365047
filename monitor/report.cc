#include "monitor/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/human_text.h"
#include "base/time.h"
#include "measure/clients/client_report.h"

namespace tickstack::monitor {
namespace {

constexpr double kNsPerMs = 1e6;

double Ms(int64_t ns) { return static_cast<double>(ns) / kNsPerMs; }
std::string MsCell(int64_t ns) { return fmt::format("{:.6f}", Ms(ns)); }
std::string MsCell(const std::optional<int64_t>& ns) { return ns ? MsCell(*ns) : ""; }
std::string Cell(const std::optional<int64_t>& number) {
  return number ? std::to_string(*number) : "";
}

// Returns a name from outside as one CSV cell.
std::string NameCell(std::string_view name) {
  std::string cell;
  for (const char c : name) cell += c > ' ' && c < 127 && c != ',' && c != '"' ? c : '_';
  return cell;
}

double QueriesPerMinute(const Summary& summary) {
  const auto minutes = static_cast<double>(summary.end_ns - summary.begin_ns) / 60e9;
  return minutes > 0 ? static_cast<double>(summary.monitor->samples()) / minutes : 0;
}

}  // namespace

SampleCsv::SampleCsv(const MonitorSettings& settings, const Sample& first)
    : tables_(settings.tables) {
  for (const auto& [name, number] : first.rdb) rdb_names_.push_back(name);
}

std::string SampleCsv::Header() const {
  std::string header = "time,delay_ms,query_ms,missed";
  for (const std::string& table : tables_) {
    header += fmt::format(",{0}_time,{0}_lag_ms,{0}_rows", table);
  }
  header += ",asof_symbol,asof_rows,asof_ms";
  for (const std::string& name : rdb_names_) header += "," + NameCell(name);
  return header + "\n";
}

std::string SampleCsv::Row(const Sample& sample) const {
  std::string row = fmt::format("{},{},{},{}", FormatTimestamp(sample.end_ns),
                                MsCell(sample.begin_ns - sample.due_ns),
                                MsCell(sample.end_ns - sample.due_ns), sample.missed);
  for (const TableSample& table : sample.tables) {
    row += fmt::format(",{},{},{}", table.newest_ns ? FormatTimestamp(*table.newest_ns) : "",
                       MsCell(table.lag_ns), Cell(table.rows));
  }
  row += fmt::format(",{},{},{}", NameCell(sample.asof_symbol), Cell(sample.asof_rows),
                     MsCell(sample.asof_ns));
  for (const std::string& name : rdb_names_) {
    const auto found = sample.rdb.find(name);
    row += found == sample.rdb.end() ? "," : fmt::format(",{:.15g}", found->second);
  }
  return row + "\n";
}

std::string ProgressLine(const Monitor& monitor, std::optional<ClientCounts> clients) {
  const Sample& last = monitor.last();
  std::string line;
  for (size_t i = 0; i < last.tables.size(); ++i) {
    const TableSample& table = last.tables[i];
    line +=
        fmt::format("{} {} rows", monitor.settings().tables[i], Thousands(table.rows.value_or(0)));
    if (table.lag_ns) line += fmt::format(" lag {}", NsText(*table.lag_ns));
    line += " | ";
  }
  if (last.asof_ns) {
    line += fmt::format("asof {} {} rows {} | ", last.asof_symbol,
                        Thousands(last.asof_rows.value_or(0)), NsText(*last.asof_ns));
  }
  line += fmt::format("query {}", NsText(last.end_ns - last.due_ns));
  for (const TierMemory& tier : TiersOf(last)) {
    line += fmt::format(" | {} {}", NameCell(tier.name), BytesText(tier.used));
    if (tier.capacity > 0) line += fmt::format(" of {}", BytesText(tier.capacity));
  }
  if (clients) {
    line += fmt::format(" | clients {} answers", Thousands(static_cast<int64_t>(clients->answers)));
    if (clients->errors > 0) line += fmt::format(" {} errors", clients->errors);
  }
  return line;
}

std::string SummaryText(const Summary& summary) {
  const Monitor& monitor = *summary.monitor;
  std::string text = fmt::format(
      "{} of {}: {:.1f} s, {} samples ({:.0f} a minute), {} missed, {} errors, {} reconnects\n",
      summary.name, summary.rdb, static_cast<double>(summary.end_ns - summary.begin_ns) / 1e9,
      monitor.samples(), QueriesPerMinute(summary), monitor.missed(), monitor.errors(),
      monitor.reconnects());
  const auto cells = [&text](std::string_view name, std::initializer_list<std::string> values) {
    text += fmt::format("{:<24}", name);
    for (const std::string& value : values) text += fmt::format("{:>12}", value);
    text += '\n';
  };
  const auto line = [&cells](std::string_view name, const measure::Distribution& d) {
    if (d.count == 0) return cells(name, {"0", "-", "-", "-", "-", "-"});
    cells(name, {Thousands(static_cast<int64_t>(d.count)), NsText(d.p50), NsText(d.p90),
                 NsText(d.p99), NsText(d.p999), NsText(d.max)});
  };
  cells("", {"count", "p50", "p90", "p99", "p99.9", "max"});
  for (const measure::Metric& metric : monitor.metrics())
    line(metric.name(), measure::DistributionOf(metric.Whole()));
  for (const measure::Metric& metric : monitor.metrics()) {
    line(metric.name() + ", last minute",
         measure::DistributionOf(metric.LastMinute(summary.end_ns)));
  }
  text += measure::ClientsText(summary.clients);
  const Sample& last = monitor.last();
  for (size_t i = 0; i < last.tables.size(); ++i) {
    cells(monitor.settings().tables[i] + " rows", {Thousands(last.tables[i].rows.value_or(0))});
  }
  const std::vector<TierMemory> tiers = TiersOf(last);
  if (!tiers.empty()) cells("memory", {"used", "high water", "capacity", "in DRAM"});
  for (const TierMemory& tier : tiers) {
    cells("tier " + NameCell(tier.name),
          {BytesText(tier.used), BytesText(tier.high_water),
           tier.capacity > 0 ? BytesText(tier.capacity) : std::string("-"),
           BytesText(tier.resident)});
  }
  // These keep the rdb's own units and names; most are 0.
  for (const auto& [name, number] : last.rdb) {
    if (number != 0) text += fmt::format("{:<24}{:>18.15g}\n", NameCell(name), number);
  }
  return text;
}

std::string SummaryCsv(const Summary& summary) {
  std::string csv = "metric,span,count,min_ms,p50_ms,p90_ms,p99_ms,p999_ms,max_ms,mean_ms\n";
  for (const measure::Metric& metric : summary.monitor->metrics()) {
    const auto line = [&](std::string_view span, const measure::Distribution& d) {
      csv += fmt::format("{},{},{},{},{},{},{},{},{},{:.6f}\n", metric.name(), span, d.count,
                         MsCell(d.min), MsCell(d.p50), MsCell(d.p90), MsCell(d.p99), MsCell(d.p999),
                         MsCell(d.max), d.mean / kNsPerMs);
    };
    line("whole", measure::DistributionOf(metric.Whole()));
    line("last_minute", measure::DistributionOf(metric.LastMinute(summary.end_ns)));
  }
  return csv;
}

std::string SummaryJson(const Summary& summary) {
  const Monitor& monitor = *summary.monitor;
  nlohmann::ordered_json json = {
      {"name", summary.name},
      {"rdb", summary.rdb},
      {"begin", FormatTimestamp(summary.begin_ns)},
      {"seconds", static_cast<double>(summary.end_ns - summary.begin_ns) / 1e9},
      {"samples", monitor.samples()},
      {"queries_per_minute", QueriesPerMinute(summary)},
      {"missed", monitor.missed()},
      {"errors", monitor.errors()},
      {"reconnects", monitor.reconnects()}};
  for (const measure::Metric& metric : monitor.metrics()) {
    json["metrics"][metric.name()] = {
        {"whole", measure::DistributionJson(metric.Whole())},
        {"last_minute", measure::DistributionJson(metric.LastMinute(summary.end_ns))}};
  }
  const Sample& last = monitor.last();
  for (size_t i = 0; i < last.tables.size(); ++i) {
    const std::optional<int64_t>& rows = last.tables[i].rows;
    json["rows"][monitor.settings().tables[i]] = rows ? nlohmann::json(*rows) : nlohmann::json();
  }
  json["asof_symbol"] = last.asof_symbol;
  measure::AddClients(summary.clients, json);
  json["rdb_says"] = nlohmann::json::object();
  for (const auto& [name, number] : last.rdb) json["rdb_says"][NameCell(name)] = number;
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace tickstack::monitor
