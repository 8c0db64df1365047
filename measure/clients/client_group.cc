#include "measure/clients/client_group.h"

#include <algorithm>
#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"

namespace tickstack::measure {
namespace {

constexpr size_t kErrorBytesMax = 300;
constexpr std::string_view kEmptyResult = "the result is empty";

bool IsEmptyResult(const Value& answer) {
  if (answer.is_null()) return true;
  if (!answer.is_atom()) return answer.count() == 0;
  if (WidthOf(answer.type()) != sizeof(int64_t)) return false;
  if (answer.is_atom_of(Type::kFloat)) return answer.as<double>() != answer.as<double>();
  return !IsFloating(answer.type()) && answer.as<int64_t>() == kNullLong;
}

ClientSpec WithPace(ClientSpec spec, int64_t every_ns) {
  if (spec.mode == ClientSpec::Mode::kOpen && spec.every_ms == 0) {
    spec.every_ms = static_cast<double>(every_ns) / 1e6;
  }
  return spec;
}

}  // namespace

ClientGroup::ClientGroup(const QuerySet& set, size_t client, const SymbolActivity& symbols,
                         int64_t every_ns, QuestionSender* sender)
    : set_(set),
      spec_(WithPace(set.clients[client], every_ns)),
      sender_(sender),
      texts_(set, client, symbols),
      schedule_(spec_.every_ms * 1e6, spec_.poisson, set.seed + client),
      connections_(static_cast<size_t>(spec_.count)) {
  for (const size_t query : spec_.queries) measured_.emplace_back(set.queries[query].name);
}

void ClientGroup::Begin(int64_t now_ns) {
  texts_.Restart();
  schedule_.Begin(now_ns);
  for (Connection& connection : connections_) {
    connection.counts = false;
    connection.next_ns = now_ns;
  }
  for (Measured& measured : measured_) {
    measured.times.Reset();
    measured.errors = measured.slice_errors = 0;
    measured.first_error.clear();
    measured.slices.clear();
    measured.slice.Reset();
    measured.slice_begin_ns = now_ns;
  }
  asked_ = answers_ = errors_ = lost_ = 0;
  begin_ns_ = now_ns;
  end_ns_ = kNever;
  running_ = true;
}

void ClientGroup::OnClockSet(int64_t ns) {
  schedule_.MoveClock(ns);
  for (Connection& connection : connections_) {
    connection.next_ns += ns;
    connection.since_ns += ns;
  }
}

void ClientGroup::End(int64_t now_ns) {
  if (running_ && end_ns_ == kNever) end_ns_ = now_ns;
}

void ClientGroup::OnConnected(size_t number, int64_t now_ns) {
  Connection& connection = connections_[number];
  connection.connected = true;
  if (connection.asking && connection.counts) {
    sender_->Ask(number, connection.text);
    return;
  }
  connection.asking = false;
  connection.next_ns = std::max(connection.next_ns, now_ns);
  if (is_open()) free_.push_back(number);
}

void ClientGroup::OnDisconnected(size_t number) {
  connections_[number].connected = false;
  ++lost_;
  std::erase(free_, number);
}

int64_t ClientGroup::Poll(int64_t now_ns) {
  if (!running_) return kNever;
  if (is_open()) {
    while (!free_.empty() && schedule_.due_ns() <= now_ns && schedule_.due_ns() < end_ns_) {
      const size_t connection = free_.front();
      free_.pop_front();
      const int64_t due_ns = schedule_.due_ns();
      schedule_.Advance();
      Ask(connection, due_ns, now_ns);
    }
    return free_.empty() || schedule_.due_ns() >= end_ns_ ? kNever : schedule_.due_ns();
  }
  if (now_ns >= end_ns_) return kNever;
  int64_t next_ns = kNever;
  for (size_t i = 0; i < connections_.size(); ++i) {
    const Connection& connection = connections_[i];
    if (!connection.connected || connection.asking) continue;
    if (connection.next_ns <= now_ns) {
      Ask(i, now_ns, now_ns);
    } else {
      next_ns = std::min(next_ns, connection.next_ns);
    }
  }
  return next_ns;
}

void ClientGroup::Ask(size_t number, int64_t since_ns, int64_t now_ns) {
  Connection& connection = connections_[number];
  connection.asking = connection.counts = true;
  connection.place = texts_.Next();
  connection.since_ns = since_ns;
  connection.text = texts_.Text(connection.place, now_ns);
  ++asked_;
  sender_->Ask(number, connection.text);
}

void ClientGroup::OnAnswer(size_t number, const absl::StatusOr<Value>& answer, int64_t now_ns) {
  Connection& connection = connections_[number];
  if (!connection.connected || !connection.asking) return;
  // The connection has ended: OnDisconnected follows, and the question stays to be asked again.
  if (answer.status().code() == absl::StatusCode::kUnavailable) return;
  connection.asking = false;
  if (connection.counts) Count(connection, answer, now_ns);
  connection.next_ns = now_ns + static_cast<int64_t>(spec_.think_ms * 1e6);
  if (is_open()) free_.push_back(number);
}

void ClientGroup::CloseSlice(Measured& measured, int64_t next_begin_ns) {
  if (measured.slice.Count() > 0) {
    measured.slices.push_back(
        {measured.slice_begin_ns, measured.slice_errors, DistributionOf(measured.slice)});
  }
  measured.slice.Reset();
  measured.slice_errors = 0;
  measured.slice_begin_ns = next_begin_ns;
}

void ClientGroup::Count(Connection& connection, const absl::StatusOr<Value>& answer,
                        int64_t now_ns) {
  const QuerySpec& query = set_.queries[spec_.queries[connection.place]];
  Measured& measured = measured_[connection.place];
  const int64_t slice_begin_ns = now_ns - (now_ns - begin_ns_) % kSliceNs;
  if (slice_begin_ns > measured.slice_begin_ns) CloseSlice(measured, slice_begin_ns);
  const int64_t took_ns = now_ns - connection.since_ns;
  measured.times.Record(now_ns, took_ns);
  measured.slice.Record(took_ns);
  ++answers_;
  const bool empty = answer.ok() && query.not_empty && IsEmptyResult(*answer);
  if (answer.ok() && !empty) return;
  ++measured.errors;
  ++measured.slice_errors;
  if (!query.allow_errors) ++errors_;
  const std::string_view why = empty ? kEmptyResult : Message(answer.status());
  if (measured.first_error.empty()) measured.first_error = why.substr(0, kErrorBytesMax);
  static LogLimit limit(10 * kNsPerSecond);
  if (const std::optional<uint64_t> withheld = limit.Pass(now_ns)) {
    LogWarn("client's query failed client={} query={} error=\"{}\" text=\"{}\" withheld={}",
            spec_.name, query.name, why, connection.text, *withheld);
  }
}

bool ClientGroup::is_idle() const {
  if (end_ns_ == kNever) return !running_;
  const bool asking = std::any_of(connections_.begin(), connections_.end(),
                                  [](const auto& one) { return one.asking && one.counts; });
  return !asking && (!is_open() || schedule_.due_ns() >= end_ns_);
}

ClientResult ClientGroup::Result(int64_t now_ns) const {
  const int64_t end_ns = std::min(end_ns_, now_ns);
  ClientResult result;
  result.spec = spec_;
  result.seconds = running_ ? static_cast<double>(end_ns - begin_ns_) / 1e9 : 0;
  result.lost = lost_;
  result.asked = asked_;
  for (size_t place = 0; place < measured_.size(); ++place) {
    Measured measured = measured_[place];
    CloseSlice(measured, now_ns);
    const QuerySpec& query = set_.queries[spec_.queries[place]];
    result.queries.push_back({.query = query.name,
                              .errors_allowed = query.allow_errors,
                              .errors = measured.errors,
                              .unanswered = 0,
                              .first_error = measured.first_error,
                              .whole = measured.times.Whole(),
                              .last_minute = measured.times.LastMinute(end_ns),
                              .slices = std::move(measured.slices)});
  }
  if (!running_) return result;
  const auto waits = [&](size_t place, int64_t since_ns) {
    QueryResult& query = result.queries[place];
    ++query.unanswered;
    query.whole.Record(now_ns - since_ns);
    query.last_minute.Record(now_ns - since_ns);
  };
  for (const Connection& connection : connections_) {
    if (connection.asking && connection.counts) waits(connection.place, connection.since_ns);
  }
  if (!is_open()) return result;
  // Covers the questions that were due but found no free connection.
  OpenSchedule schedule = schedule_;
  QuestionTexts texts = texts_;
  for (; schedule.due_ns() < end_ns; schedule.Advance()) waits(texts.Next(), schedule.due_ns());
  return result;
}

}  // namespace tickstack::measure
