#include "tests/simulate/gateway_question.h"

#include <optional>
#include <span>
#include <string_view>

#include "base/status.h"

namespace tickstack::simulate {
namespace {

using Kind = GatewayQuestion::Kind;

// A partition has its rows by symbol. The rows of a feed are in their order if it has one symbol.
bool HasOrder(const GatewayQuestion& question) {
  return question.table == "trade" || !question.NamesDays();
}

std::string AggregatesOf(const GatewayQuestion& question) {
  const std::string of_numbers = "c:count i,s:sum n,lo:min n,hi:max n";
  return of_numbers + (HasOrder(question) ? ",f:first n,l:last n" : "");
}

absl::Status WrongForm(std::string_view what) {
  return InvalidArgument("the answer has another form: {}", what);
}

// The columns of aggregates, as vectors of longs.
absl::StatusOr<std::vector<CountedRows>> ReadCounted(const Value& table, bool has_order) {
  std::vector<CountedRows> all(table.count());
  const std::pair<const char*, int64_t CountedRows::*> columns[] = {
      {"c", &CountedRows::count}, {"s", &CountedRows::sum},   {"lo", &CountedRows::low},
      {"hi", &CountedRows::high}, {"f", &CountedRows::first}, {"l", &CountedRows::last}};
  for (const auto& [name, member] : columns) {
    const Value* const column = table.FindColumn(name);
    if (column == nullptr && !has_order) continue;
    if (column == nullptr) return WrongForm(name);
    if (all.empty()) continue;
    if (!column->is(Type::kLong)) return WrongForm(name);
    for (size_t i = 0; i < all.size(); ++i) all[i].*member = column->span<int64_t>()[i];
  }
  for (CountedRows& counted : all) {
    if (!has_order) counted.first = counted.low, counted.last = counted.high;
  }
  return all;
}

absl::StatusOr<std::vector<AnsweredRow>> ReadRows(const Value& value) {
  if (!value.is_table()) return WrongForm("no table");
  std::vector<AnsweredRow> rows(value.count());
  const Value *const syms = value.FindColumn("sym"), *const feeds = value.FindColumn("feed"),
                     *const numbers = value.FindColumn("n");
  if (syms == nullptr || feeds == nullptr || numbers == nullptr) return WrongForm("columns");
  if (rows.empty()) return rows;
  if (!syms->is(Type::kSymbol) || !feeds->is(Type::kSymbol) || !numbers->is(Type::kLong)) {
    return WrongForm("types of columns");
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i] = {std::string(syms->symbols()[i]), std::string(feeds->symbols()[i]),
               numbers->span<int64_t>()[i]};
  }
  return rows;
}

// Aggregates by groups.
absl::Status ReadGroups(const GatewayQuestion& question, const Value& value,
                        GatewayAnswer& answer) {
  if (!value.is_keyed_table()) return WrongForm("no keyed table");
  const Value& table = value.values();
  TS_ASSIGN_OR_RETURN(const std::vector<CountedRows> counted,
                      ReadCounted(table, HasOrder(question)));
  if (counted.empty()) return absl::OkStatus();
  const Value* const feeds = value.keys().FindColumn("feed");
  const Value* const dates = value.keys().FindColumn("date");
  const Value* const medians = table.FindColumn("m");
  if (feeds == nullptr || !feeds->is(Type::kSymbol)) return WrongForm("feed");
  const bool by_date = question.kind == Kind::kByDate;
  if (by_date && (dates == nullptr || !dates->is(Type::kDate))) return WrongForm("date");
  const bool has_medians = question.kind == Kind::kMedian;
  if (has_medians && (medians == nullptr || !medians->is(Type::kFloat))) return WrongForm("m");
  for (size_t i = 0; i < counted.size(); ++i) {
    const std::string feed(feeds->symbols()[i]);
    auto& groups = by_date ? answer.dates[dates->span<int32_t>()[i]] : answer.feeds;
    if (!groups.emplace(feed, counted[i]).second) return WrongForm("a group occurs twice");
    if (has_medians) answer.medians[feed] = medians->span<double>()[i];
  }
  return absl::OkStatus();
}

}  // namespace

std::string GatewayQuestion::Text() const {
  const std::string first = FormatDate(day), last = FormatDate(last_day);
  const std::string aggregates = AggregatesOf(*this);
  switch (kind) {
    case Kind::kOfAll:
      return fmt::format("select {} by feed from {}", aggregates, table);
    case Kind::kRowsOfAll:
      return fmt::format("select sym,feed,n from {}", table);
    case Kind::kCountOfAll:
      return fmt::format("count select from {}", table);
    case Kind::kOfDay:
      return fmt::format("select {} by feed from {} where date={}", aggregates, table, first);
    case Kind::kOfDays:
      return fmt::format("select {} by feed from {} where date within {} {}", aggregates, table,
                         first, last);
    case Kind::kByDate:
      return fmt::format("select {} by date,feed from {}", aggregates, table);
    case Kind::kMedian:
      return fmt::format("select {},m:med n by feed from {} where date in {} {}", aggregates, table,
                         first, last);
    case Kind::kRows:
      return fmt::format("select sym,feed,n from {} where date={}", table, first);
    case Kind::kCount:
      return fmt::format("count select from {} where date={}", table, first);
    case Kind::kDates:
      return "date";
  }
  return "";
}

GatewayQuestion DrawQuestion(Random& random, int32_t day) {
  const auto kind = static_cast<Kind>(random.Below(static_cast<uint64_t>(Kind::kDates) + 1));
  const bool of_two = kind == Kind::kOfDays || kind == Kind::kMedian;
  return {kind, random.OneIn(2) ? "trade" : "quote", day, of_two ? day + 1 : day};
}

absl::StatusOr<GatewayAnswer> ReadAnswer(const GatewayQuestion& question, const Value& value) {
  GatewayAnswer answer;
  switch (question.kind) {
    case Kind::kDates:
      if (!value.is(Type::kDate)) return WrongForm("no dates");
      for (size_t i = 0; i < value.count(); ++i) {
        const std::span<const int32_t> dates = value.span<int32_t>();
        if (i > 0 && dates[i] <= dates[i - 1]) return WrongForm("dates do not ascend");
        answer.dates[dates[i]] = {};
      }
      return answer;
    case Kind::kCountOfAll:
    case Kind::kCount:
      if (!value.is_atom_of(Type::kLong)) return WrongForm("no long");
      answer.count = value.as<int64_t>();
      return answer;
    case Kind::kRowsOfAll:
    case Kind::kRows: {
      TS_ASSIGN_OR_RETURN(answer.rows, ReadRows(value));
      return answer;
    }
    default:
      TS_RETURN_IF_ERROR(ReadGroups(question, value, answer));
      return answer;
  }
}

}  // namespace tickstack::simulate
