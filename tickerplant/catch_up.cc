#include "tickerplant/catch_up.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/status.h"

namespace tickstack::tickerplant {

struct CatchUp::Follower {
  Follower(std::span<const Schema> schemas, bool keep_order) : publisher(schemas, keep_order) {}

  Outlet* outlet = nullptr;
  Publisher publisher;  // Has the subscriptions of this outlet only.
  // Rows up to message `seq` of log number `log` have been queued.
  uint64_t log = 0;
  uint64_t seq = 0;
  std::unique_ptr<tplog::TplogReader> reader;  // nullptr: the log has not been opened yet.
  std::vector<uint64_t> rows;                  // By table, as CatchUp::head_rows_.
  std::vector<bool> wants;                     // By table.
  int64_t since_ns = 0;                        // When it fell behind.
  int64_t reached_ns = 0;                      // When the last of its rows had arrived.
  // When the socket last took bytes, and how many it has taken.
  int64_t sent_ns = 0;
  uint64_t sent_bytes = 0;

  struct Message {
    uint64_t log;  // The message follows message number `seq` of that log.
    uint64_t seq;
    std::shared_ptr<const ByteBuffer> bytes;
  };
  std::deque<Message> messages;
};

CatchUp::CatchUp(std::span<const Schema> schemas, bool keep_order, const Clock* clock)
    : schemas_(schemas), keep_order_(keep_order), clock_(clock), head_rows_(schemas.size()) {}

CatchUp::~CatchUp() = default;

// ---- the log

void CatchUp::EnterLog(const tplog::TplogWriter& log) {
  if (!logs_.empty()) logs_.back().end_seq = head_seq_;
  logs_.push_back({log.path(), log.End(), std::nullopt, {}});
  head_seq_ = logs_.back().begin.seq;
  ForgetLogs();
}

void CatchUp::OnPublished(uint64_t seq, std::span<const uint64_t> rows) {
  head_seq_ = seq;
  std::ranges::copy(rows, head_rows_.begin());
}

// Drops logs that no subscriber reads any more.
void CatchUp::ForgetLogs() {
  uint64_t oldest = head_log();
  for (const auto& follower : followers_) oldest = std::min(oldest, follower->log);
  for (; first_log_ < oldest; ++first_log_) logs_.pop_front();
  if (followers_.empty()) logs_.back().files = {};
}

absl::Status CatchUp::Prepare() {
  Log& log = logs_.back();
  if (log.files.log != nullptr) return absl::OkStatus();
  TS_ASSIGN_OR_RETURN(log.files, tplog::TplogFiles::Open(log.path));
  return absl::OkStatus();
}

// ---- subscribers

void CatchUp::Add(Outlet* outlet, std::vector<TableSubscription> subscriptions,
                  tplog::TplogPlace end) {
  TS_CHECK(end.seq == head_seq_ && logs_.back().files.log != nullptr);
  auto follower = std::make_unique<Follower>(schemas_, keep_order_);
  follower->outlet = outlet;
  follower->wants.resize(schemas_.size());
  for (TableSubscription& each : subscriptions) {
    follower->wants[each.table] = true;
    follower->publisher.Subscribe(each.table, std::move(each.subscription));
  }
  follower->log = head_log();
  follower->seq = end.seq;
  follower->reader = tplog::TplogReader::OpenAt(logs_.back().files, std::move(end));
  follower->rows = head_rows_;
  follower->since_ns = follower->reached_ns = clock_->NowNs();
  follower->sent_ns = clock_->MonotonicNs();
  follower->sent_bytes = outlet->sent_bytes();
  followers_.push_back(std::move(follower));
}

std::vector<TableSubscription> CatchUp::Take(const Outlet* outlet) {
  std::vector<TableSubscription> taken;
  const Follower* const follower = Find(outlet);
  if (follower == nullptr) return taken;
  for (size_t table = 0; table < schemas_.size(); ++table) {
    for (const Subscription& each : follower->publisher.SubscriptionsOf(table)) {
      taken.push_back({table, each});
    }
  }
  Remove(outlet);
  return taken;
}

void CatchUp::Remove(const Outlet* outlet) {
  if (std::erase_if(followers_, [&](const auto& each) { return each->outlet == outlet; }) > 0) {
    ForgetLogs();
  }
}

const CatchUp::Follower* CatchUp::Find(const Outlet* outlet) const {
  for (const auto& follower : followers_) {
    if (follower->outlet == outlet) return follower.get();
  }
  return nullptr;
}

CatchUp::Follower* CatchUp::Find(const Outlet* outlet) {
  return const_cast<Follower*>(std::as_const(*this).Find(outlet));
}

std::vector<Outlet*> CatchUp::Outlets() const {
  std::vector<Outlet*> outlets;
  for (const auto& follower : followers_) outlets.push_back(follower->outlet);
  return outlets;
}

std::vector<const Subscription*> CatchUp::SubscriptionsOf(size_t table) const {
  std::vector<const Subscription*> all;
  for (const auto& follower : followers_) {
    for (const Subscription& each : follower->publisher.SubscriptionsOf(table)) {
      all.push_back(&each);
    }
  }
  return all;
}

void CatchUp::QueueFor(const Outlet* outlet, const std::shared_ptr<const ByteBuffer>& message) {
  if (Follower* const follower = Find(outlet)) {
    follower->messages.push_back({head_log(), head_seq_, message});
  }
}

void CatchUp::QueueForAll(const std::shared_ptr<const ByteBuffer>& message) {
  for (const auto& follower : followers_) {
    follower->messages.push_back({head_log(), head_seq_, message});
  }
}

// ---- serving

size_t CatchUp::PieceBytes() const {
  return std::clamp(kPiecesBytes / std::max<size_t>(followers_.size(), 1), kPieceBytesMin,
                    kPieceBytes);
}

bool CatchUp::IsAtHead(const Follower& follower) const {
  return follower.log == head_log() && follower.seq == head_seq_;
}

bool CatchUp::CanServe(const Follower& follower) const {
  if (follower.outlet->queued_bytes() > 0) return false;
  return !IsAtHead(follower) || !follower.messages.empty();
}

bool CatchUp::HasCaughtUp(const Follower& follower) const {
  return IsAtHead(follower) && follower.messages.empty() && follower.outlet->queued_bytes() == 0;
}

bool CatchUp::is_due() const {
  return std::ranges::any_of(followers_, [this](const auto& follower) {
    return CanServe(*follower) || HasCaughtUp(*follower);
  });
}

CatchUp::Served CatchUp::Serve(size_t bytes) {
  Served served;
  const size_t piece_bytes = PieceBytes();
  size_t visited = 0, read = 0;
  for (; visited < followers_.size() && read < bytes; ++visited) {
    Follower& follower = *followers_[visited];
    if (CanServe(follower)) {
      if (absl::Status status = ServePiece(follower, piece_bytes, &read); !status.ok()) {
        served.failed.push_back({follower.outlet, std::move(status)});
        continue;
      }
    }
    if (HasCaughtUp(follower)) served.caught_up.push_back(follower.outlet);
  }
  // The next turn begins with those that this one did not reach.
  std::rotate(followers_.begin(), followers_.begin() + static_cast<std::ptrdiff_t>(visited),
              followers_.end());
  for (const Failure& failure : served.failed) Remove(failure.outlet);
  return served;
}

absl::Status CatchUp::ServeRest(const Outlet* outlet) {
  Follower* const follower = Find(outlet);
  size_t read = 0;
  while (follower != nullptr && (!IsAtHead(*follower) || !follower->messages.empty())) {
    TS_RETURN_IF_ERROR(ServePiece(*follower, SIZE_MAX, &read));
  }
  return absl::OkStatus();
}

// Sends the messages that are due at the follower's position.
void CatchUp::SendMessages(Follower& follower) {
  while (!follower.messages.empty()) {
    const Follower::Message& next = follower.messages.front();
    if (next.log != follower.log || next.seq != follower.seq) return;
    const wire::Segment segment{next.bytes->span(), next.bytes};
    follower.outlet->Queue({&segment, 1});
    follower.outlet->Flush();
    follower.messages.pop_front();
  }
}

// Sends about `bytes` bytes of the log, or less up to where a message or the next log follows.
absl::Status CatchUp::ServePiece(Follower& follower, size_t bytes, size_t* read) {
  SendMessages(follower);
  if (IsAtHead(follower)) return absl::OkStatus();
  uint64_t end_seq = LogOf(follower.log).end_seq.value_or(head_seq_);
  if (follower.seq == end_seq) {
    ++follower.log;
    follower.seq = LogOf(follower.log).begin.seq;
    follower.reader = nullptr;
    ForgetLogs();
    SendMessages(follower);
    end_seq = LogOf(follower.log).end_seq.value_or(head_seq_);
  }
  if (!follower.messages.empty() && follower.messages.front().log == follower.log) {
    end_seq = std::min(end_seq, follower.messages.front().seq);
  }
  if (follower.reader == nullptr) TS_RETURN_IF_ERROR(OpenReader(follower));
  TS_RETURN_IF_ERROR(Read(follower, end_seq, bytes, read));
  SendMessages(follower);
  return absl::OkStatus();
}

absl::Status CatchUp::OpenReader(Follower& follower) {
  Log& log = LogOf(follower.log);
  if (log.files.log == nullptr) {
    TS_ASSIGN_OR_RETURN(log.files, tplog::TplogFiles::Open(log.path));
  }
  follower.reader = tplog::TplogReader::OpenAt(log.files, log.begin);
  return absl::OkStatus();
}

absl::Status CatchUp::Read(Follower& follower, uint64_t end_seq, size_t bytes, size_t* read) {
  const auto find_table = [this](std::string_view name) {
    return std::ranges::find(schemas_, name, &Schema::table);
  };
  auto schema = schemas_.begin();
  for (size_t got = 0; follower.seq < end_seq && got < bytes;) {
    TS_ASSIGN_OR_RETURN(const std::optional<tplog::TplogMessage> message, follower.reader->Next());
    if (!message) {
      return DataLoss("{} ends at message {}, expected {}", LogOf(follower.log).path, follower.seq,
                      end_seq);
    }
    got += message->body.size();
    *read += message->body.size();
    ++follower.seq;
    const std::optional<std::string_view> name = wire::PeekUpdTable(message->body);
    if (!name) continue;
    if (schema->table != *name) schema = find_table(*name);
    if (schema == schemas_.end()) {
      schema = schemas_.begin();
      continue;
    }
    wire::UpdView upd;
    TS_RETURN_IF_ERROR(decoder_.Decode(message->body, &upd, schema->columns.size()));
    const auto table = static_cast<size_t>(schema - schemas_.begin());
    follower.publisher.Add(table, upd.batch, nullptr);
    follower.rows[table] += upd.batch.rows;
  }
  follower.publisher.Publish(static_cast<int64_t>(follower.seq));
  if (const int64_t time_ns = follower.reader->time_ns(); time_ns != kNullLong) {
    follower.reached_ns = time_ns;
  }
  // One subscriber keeps its buffers for the next piece; those of a hundred would add up.
  constexpr size_t kKeptWindowBytes = size_t{1} << 20;
  constexpr size_t kKeepingMax = 8;
  const bool keeps = followers_.size() <= kKeepingMax;
  follower.reader->ReleaseMemory(keeps ? kKeptWindowBytes : 0);
  if (!keeps) follower.publisher.ReleaseMemory();
  return absl::OkStatus();
}

// ---- what is told about them

CatchUp::Lag CatchUp::LagOf(const Follower& follower) const {
  Lag lag{.since_ns = follower.since_ns};
  for (size_t table = 0; table < schemas_.size(); ++table) {
    if (follower.wants[table]) lag.rows += head_rows_[table] - follower.rows[table];
  }
  if (!IsAtHead(follower)) lag.ns = std::max<int64_t>(clock_->NowNs() - follower.reached_ns, 0);
  return lag;
}

CatchUp::Lag CatchUp::LagOf(const Outlet* outlet) const {
  const Follower* const follower = Find(outlet);
  return follower == nullptr ? Lag() : LagOf(*follower);
}

CatchUp::Lag CatchUp::LagOfFurthest() const {
  Lag furthest;
  for (const auto& follower : followers_) {
    const Lag lag = LagOf(*follower);
    furthest.rows = std::max(furthest.rows, lag.rows);
    furthest.ns = std::max(furthest.ns, lag.ns);
  }
  return furthest;
}

std::vector<Outlet*> CatchUp::FindStalled(int64_t at_most_ns) {
  std::vector<Outlet*> stalled;
  const int64_t now_ns = clock_->MonotonicNs();
  for (const auto& follower : followers_) {
    const uint64_t sent = follower->outlet->sent_bytes();
    if (sent != follower->sent_bytes || follower->outlet->queued_bytes() == 0) {
      follower->sent_bytes = sent;
      follower->sent_ns = now_ns;
    } else if (now_ns - follower->sent_ns >= at_most_ns) {
      stalled.push_back(follower->outlet);
    }
  }
  return stalled;
}

}  // namespace tickstack::tickerplant
