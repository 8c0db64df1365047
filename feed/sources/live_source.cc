#include "feed/sources/live_source.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/printable.h"
#include "base/status.h"
#include "base/time.h"
#include "feed/live/receiver_group.h"
#include "feed/live/soup_receiver.h"
#include "feed/live/udp_receiver.h"
#include "security/credentials_file.h"

namespace tickstack::feed {
namespace {

constexpr int64_t kSpoolNs = 10'000'000;    // Longest time that rows wait for a record.
constexpr int64_t kRoomNs = 100'000'000;    // How often it looks for room while it drops messages.
constexpr int64_t kRequestNs = 50'000'000;  // Interval between requests of the same messages.
constexpr int64_t kDisorderNs = 5'000'000;  // Messages that are missing for less are not asked for.
constexpr size_t kBatchBytes = 200;         // What a kept batch takes besides its data.
constexpr int64_t kBytesPerMib = int64_t{1} << 20;

using Receivers = std::vector<std::unique_ptr<live::LineReceiver>>;

absl::StatusOr<std::unique_ptr<live::LineReceiver>> MakeUdpReceiver(
    const std::vector<std::string>& texts, const LiveOptions& options) {
  std::vector<live::UdpLine> lines;
  for (const std::string& text : texts) {
    const absl::StatusOr<live::UdpLine> line = live::ParseUdpLine(text, options.interface);
    if (!line.ok()) return Annotate(line.status(), "lines");
    for (const live::UdpLine& other : lines) {
      if (other.ToString() != line->ToString() || other.interface != line->interface) continue;
      return InvalidArgument("lines: {} is there twice", text);
    }
    lines.push_back(*line);
  }
  std::optional<live::UdpLine> server;
  if (!options.request.empty()) {
    const absl::StatusOr<live::UdpLine> line = live::ParseUdpLine(options.request, {});
    if (!line.ok()) return Annotate(line.status(), "request");
    server = *line;
  }
  TS_ASSIGN_OR_RETURN(std::unique_ptr<live::UdpReceiver> receiver,
                      live::UdpReceiver::Create(std::move(lines), std::move(server),
                                                options.receive_mib * kBytesPerMib));
  // So errors come at the start. The lines are joined when the tickerplant takes rows.
  TS_RETURN_IF_ERROR(receiver->Join());
  receiver->Leave();
  return receiver;
}

absl::Status AddSoupReceivers(const std::vector<std::string>& texts, const LiveOptions& options,
                              const market::PacketDecoder& decoder, Receivers& receivers) {
  live::SoupOptions soup;
  soup.session = options.soup_session;
  if (!options.soup_credentials.empty()) {
    const absl::StatusOr<security::FileCredentials> file =
        security::LoadCredentials(options.soup_credentials);
    if (!file.ok()) return Annotate(file.status(), "soup_credentials");
    soup.user = file->user;
    soup.password = file->password.text();
  }
  std::vector<std::string> names;
  for (const std::string& text : texts) {
    const absl::StatusOr<live::SoupServer> server = live::ParseSoupServer(text);
    if (!server.ok()) return Annotate(server.status(), "lines");
    if (std::ranges::find(names, server->ToString()) != names.end()) {
      return InvalidArgument("lines: {} is there twice", text);
    }
    names.push_back(server->ToString());
    TS_ASSIGN_OR_RETURN(
        std::unique_ptr<live::LineReceiver> receiver,
        live::SoupReceiver::Create(*server, soup, [&decoder] { return decoder.Positions(); }));
    receivers.push_back(std::move(receiver));
  }
  return absl::OkStatus();
}

// `decoder` must outlive the receiver.
absl::StatusOr<std::unique_ptr<live::LineReceiver>> MakeReceiver(
    const LiveOptions& options, const market::PacketDecoder& decoder) {
  std::vector<std::string> udp, soup;
  for (const std::string& line : options.lines) {
    (line.starts_with(live::kSoupPrefix) ? soup : udp).push_back(line);
  }
  constexpr size_t kLinesMax = market::Arbiter::kLinesMax - 1;  // One is that of a server.
  if (options.lines.size() > kLinesMax) {
    return InvalidArgument("lines: {}, expected at most {}", options.lines.size(), kLinesMax);
  }
  if (!soup.empty() && !options.has_soup) {
    return InvalidArgument("lines: '{}': this source is not sent by SoupBinTCP", soup.front());
  }
  Receivers receivers;
  if (!udp.empty() || !options.request.empty()) {
    TS_ASSIGN_OR_RETURN(std::unique_ptr<live::LineReceiver> receiver,
                        MakeUdpReceiver(udp, options));
    receivers.push_back(std::move(receiver));
  }
  TS_RETURN_IF_ERROR(AddSoupReceivers(soup, options, decoder, receivers));
  if (receivers.size() == 1) return std::move(receivers.front());
  return live::ReceiverGroup::Create(std::move(receivers));
}

}  // namespace

LiveSource::LiveSource(LiveSetup setup, const MarketOptions& options,
                       std::unique_ptr<live::LineReceiver> receiver,
                       std::unique_ptr<live::RowSpool> spool)
    : decoder_(std::move(setup.decoder)),
      rows_(std::move(setup.rows)),
      receiver_(std::move(receiver)),
      spool_(std::move(spool)),
      batch_rows_(options.batch_rows),
      keep_bytes_max_(static_cast<size_t>(options.live.keep_mib * kBytesPerMib)),
      description_(fmt::format("{} live lines={} rows={}", setup.source,
                               fmt::join(options.live.lines, ","), spool_->directory())),
      bad_(receiver_->lines()),
      requests_(!options.live.request.empty()) {
  kept_ = spool_->TakeBatches();
  for (const live::SpoolBatch& batch : kept_) kept_bytes_ += batch.data.capacity() + kBatchBytes;
  rows_.Continue(spool_->next_rows());
  for (const market::StreamPosition& position : spool_->Positions()) {
    decoder_->Continue(position);
    spooled_seqs_[{position.channel, position.session}] = position.next_seq;
  }
}

absl::StatusOr<std::unique_ptr<LiveSource>> LiveSource::Create(LiveSetup setup,
                                                               const MarketOptions& options) {
  TS_ASSIGN_OR_RETURN(std::unique_ptr<live::LineReceiver> receiver,
                      MakeReceiver(options.live, *setup.decoder));
  TS_ASSIGN_OR_RETURN(std::unique_ptr<live::RowSpool> spool, live::RowSpool::Open(options.folder));
  return std::unique_ptr<LiveSource>(
      new LiveSource(std::move(setup), options, std::move(receiver), std::move(spool)));
}

// An orderly stop leaves no row out.
LiveSource::~LiveSource() {
  if (joined_ && error_.ok()) Spool(spooled_ns_);
}

absl::Status LiveSource::CheckRows(const NameMap<int64_t>& rows_done) const {
  for (const std::string& table : tables()) {
    const auto found = rows_done.find(table);
    const int64_t done = found == rows_done.end() ? 0 : found->second;
    const auto next = spool_->next_rows().find(table);
    const int64_t made = next == spool_->next_rows().end() ? 0 : next->second;
    const auto first = std::ranges::find(kept_, table, &live::SpoolBatch::table);
    const int64_t kept_from = first == kept_.end() ? made : first->first_row;
    if (done >= kept_from && done <= made) continue;
    return DataLoss(
        "{}: it has rows {} to {} of {}, the tickerplant has logged {}: remove the directory to "
        "begin anew",
        spool_->directory(), kept_from, made, table, done);
  }
  return absl::OkStatus();
}

absl::Status LiveSource::Rewind(const NameMap<int64_t>& rows_done) {
  TS_RETURN_IF_ERROR(error_);
  TS_RETURN_IF_ERROR(CheckRows(rows_done));
  OnLogged(rows_done);
  next_ = 0;
  if (joined_) return absl::OkStatus();
  TS_RETURN_IF_ERROR(receiver_->Join());
  joined_ = true;
  return absl::OkStatus();
}

bool LiveSource::IsDone(const live::SpoolBatch& batch) const {
  const auto done = rows_done_.find(batch.table);
  return done != rows_done_.end() && batch.first_row + batch.rows <= done->second;
}

void LiveSource::OnLogged(const NameMap<int64_t>& rows_logged) {
  rows_done_ = rows_logged;
  while (!kept_.empty() && IsDone(kept_.front())) {
    kept_bytes_ -= kept_.front().data.capacity() + kBatchBytes;
    kept_.pop_front();
    if (next_ > 0) --next_;
  }
  error_.Update(spool_->RemoveBefore(kept_.empty() ? spool_->file() : kept_.front().file));
}

int64_t LiveSource::next_due_ns() const {
  if (!error_.ok()) return kAlwaysDue;
  if (next_ < kept_.size()) return kept_[next_].due_ns;
  return pending_due_ns_ == kNeverDue ? kNotDueYet : pending_due_ns_;
}

absl::StatusOr<const FeedBatch*> LiveSource::Next(int64_t now_ns) {
  if (next_ == kept_.size() && pending_due_ns_ != kNeverDue) Spool(now_ns);
  TS_RETURN_IF_ERROR(error_);
  while (next_ < kept_.size() && IsDone(kept_[next_])) ++next_;
  if (next_ == kept_.size()) return nullptr;
  const live::SpoolBatch& next = kept_[next_++];
  batch_.table = next.table;
  batch_.first_row = next.first_row;
  batch_.rows = next.rows;
  batch_.due_ns = next.due_ns;
  batch_.data = next.data;
  return &batch_;
}

// Returns the positions that are not in the spool yet.
std::vector<market::StreamPosition> LiveSource::ChangedPositions() {
  std::vector<market::StreamPosition> positions = decoder_->Positions();
  std::erase_if(positions, [this](const market::StreamPosition& position) {
    uint64_t& spooled = spooled_seqs_[{position.channel, position.session}];
    return std::exchange(spooled, position.next_seq) == position.next_seq;
  });
  return positions;
}

// Writes the collected rows, and the position up to which they are complete, as one record. While
// messages give no rows, the position stays: their gap is not written yet.
void LiveSource::Spool(int64_t now_ns) {
  std::vector<live::SpoolBatch> batches;
  ByteBuffer data;
  for (FeedBatch taken; rows_.Take(data, taken); data = ByteBuffer()) {
    live::SpoolBatch& batch = batches.emplace_back();
    batch.table = taken.table;
    batch.first_row = taken.first_row;
    batch.rows = taken.rows;
    batch.due_ns = pending_due_ns_;
    batch.data = std::move(data);
  }
  pending_due_ns_ = kNeverDue;
  has_news_ = false;
  spooled_ns_ = now_ns;
  std::vector<market::StreamPosition> positions;
  if (!drops_) positions = ChangedPositions();
  if (batches.empty() && positions.empty()) return;
  error_.Update(spool_->Append(positions, batches));
  if (!error_.ok()) return;
  for (live::SpoolBatch& batch : batches) {
    kept_bytes_ += batch.data.capacity() + kBatchBytes;
    kept_.push_back(std::move(batch));
  }
}

void LiveSource::Collect(int64_t due_ns) {
  has_news_ = true;
  if (rows_.rows_max() > 0) pending_due_ns_ = std::min(pending_due_ns_, due_ns);
  if (rows_.rows_max() >= batch_rows_) Spool(due_ns);
}

void LiveSource::TakeDatagram(size_t line, const market::Datagram& datagram, int64_t recv_ns) {
  const std::string_view why = decoder_->TakeDatagram(datagram, line, recv_ns, rows_);
  if (!why.empty()) ++bad_[line];
  Collect(recv_ns);
}

void LiveSource::CheckRoom(int64_t now_ns) {
  if (!pauses_ && kept_bytes_ >= keep_bytes_max_ / 2) {
    receiver_->SetPaused(pauses_ = true);
  } else if (pauses_ && kept_bytes_ <= keep_bytes_max_ / 4) {
    receiver_->SetPaused(pauses_ = false);
  }
  if (!drops_ && kept_bytes_ >= keep_bytes_max_) {
    Spool(now_ns);
    drops_ = true;
    decoder_->SetDrops(true, now_ns, rows_);
    LogError("messages give no rows: the tickerplant has not logged those before kept_bytes={}",
             kept_bytes_);
  } else if (drops_ && kept_bytes_ <= keep_bytes_max_ / 2) {
    drops_ = false;
    decoder_->SetDrops(false, now_ns, rows_);
    Collect(now_ns);
    LogWarn("messages give rows again dropped={}", decoder_->counts().dropped);
  }
}

// Asks the server for what is missing: at once for what it was not asked for yet, such as the rest
// of a long gap when a part has arrived.
void LiveSource::RequestMissing(int64_t now_ns) {
  const bool is_due = now_ns - requested_ns_ >= kRequestNs || now_ns < requested_ns_;
  if (is_due) requested_ns_ = now_ns;
  for (const market::MissingRange& missing : decoder_->Missing()) {
    if (now_ns - missing.since_ns < kDisorderNs) continue;
    uint64_t& wanted = wanted_[std::string(missing.session)];
    if (std::exchange(wanted, missing.first_seq) == missing.first_seq && !is_due) continue;
    receiver_->Request(decoder_->RequestFor(missing));
  }
}

int64_t LiveSource::Receive(int64_t now_ns) {
  if (!joined_ || !error_.ok()) return kNeverDue;
  CheckRoom(now_ns);
  const bool has_all =
      receiver_->Receive([this](size_t line, const market::Datagram& datagram, int64_t recv_ns) {
        TakeDatagram(line, datagram, recv_ns);
      });
  if (error_.Update(receiver_->status()); !error_.ok()) {
    Spool(now_ns);
    receiver_->Leave();
    return kNeverDue;
  }
  // Until then, what is missing may be in a buffer of the kernel.
  if (has_all && now_ns >= decoder_->deadline_ns()) {
    decoder_->OnTime(now_ns, rows_);
    Collect(now_ns);
  }
  const bool waits = decoder_->deadline_ns() != kInfinityLong;
  if (requests_ && has_all && waits) RequestMissing(now_ns);
  if (has_news_ && now_ns - spooled_ns_ >= kSpoolNs) Spool(now_ns);
  ReportProblems();
  int64_t call_ns = decoder_->deadline_ns();
  if (has_news_) call_ns = std::min(call_ns, spooled_ns_ + kSpoolNs);
  if (requests_ && waits) call_ns = std::min(call_ns, now_ns + kDisorderNs);
  if (drops_ || pauses_) call_ns = std::min(call_ns, now_ns + kRoomNs);
  return call_ns;
}

void LiveSource::ReportProblems() {
  const market::MessageCounts& counts = decoder_->counts();
  if (counts.problems == problems_reported_ || !problem_limit_.Pass()) return;
  LogWarn("does not fit count={} last=\"{}\"", counts.problems, Printable(counts.last_problem));
  problems_reported_ = counts.problems;
}

SourceCounts LiveSource::Counts() const { return NamedCounts(*decoder_); }

std::vector<LineStats> LiveSource::Lines() const {
  std::vector<LineStats> lines;
  const std::vector<market::LineCounts>& merged = decoder_->lines();
  for (size_t i = 0; i < receiver_->lines(); ++i) {
    const live::LineTraffic& traffic = receiver_->traffic(i);
    lines.push_back({.name = receiver_->LineName(i),
                     .packets = traffic.packets,
                     .bytes = traffic.bytes,
                     .lost = traffic.lost,
                     .repeated = i < merged.size() ? merged[i].repeated : 0,
                     .bad = bad_[i] + traffic.bad});
  }
  return lines;
}

}  // namespace tickstack::feed
