#include "feed/sources/live_source.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/clock_steps.h"
#include "base/status.h"
#include "base/time.h"
#include "feed/live/receiver_group.h"
#include "feed/live/soup_receiver.h"
#include "feed/live/udp_receiver.h"
#include "security/credentials_file.h"

namespace tickstack::feed {
namespace {

constexpr int64_t kRequestNs = 50'000'000;  // Interval between requests of the same messages.
constexpr int64_t kDisorderNs = 5'000'000;  // Messages that are missing for less are not asked for.
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
    : SpooledSource(
          std::move(setup.rows), options,
          fmt::format("{} live lines={}", setup.source, fmt::join(options.live.lines, ",")),
          std::move(spool)),
      decoder_(std::move(setup.decoder)),
      receiver_(std::move(receiver)),
      bad_(receiver_->lines()),
      heard_ns_(receiver_->lines()),
      requests_(!options.live.request.empty()) {
  for (const market::StreamPosition& position : Continue()) decoder_->Continue(position);
}

absl::StatusOr<std::unique_ptr<LiveSource>> LiveSource::Create(LiveSetup setup,
                                                               const MarketOptions& options) {
  std::unique_ptr<live::LineReceiver> receiver = std::move(setup.receiver);
  if (receiver == nullptr) {
    TS_ASSIGN_OR_RETURN(receiver, MakeReceiver(options.live, *setup.decoder));
  }
  TS_ASSIGN_OR_RETURN(std::unique_ptr<live::RowSpool> spool, live::RowSpool::Open(options.folder));
  return std::unique_ptr<LiveSource>(
      new LiveSource(std::move(setup), options, std::move(receiver), std::move(spool)));
}

LiveSource::~LiveSource() { Stop(); }

void LiveSource::TakeDatagram(size_t line, const market::Datagram& datagram, int64_t recv_ns) {
  const std::string_view why = decoder_->TakeDatagram(datagram, line, recv_ns, rows());
  if (!why.empty()) ++bad_[line];
  Collect(recv_ns);
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
  if (!is_receiving()) return kNeverDue;
  CheckRoom(now_ns);
  std::ranges::fill(heard_ns_, now_ns);
  const bool has_all = receiver_->Receive(
      [this, now_ns](size_t line, const market::Datagram& datagram, int64_t recv_ns) {
        // If the clock was set back, packets that arrived before are from the future: they would
        // end all waiting, and let later gaps wait until that time.
        if (recv_ns - now_ns > ClockSteps::kStepNsMin) recv_ns = now_ns;
        heard_ns_[line] = std::min(recv_ns, now_ns);
        TakeDatagram(line, datagram, recv_ns);
      });
  if (const absl::Status status = receiver_->status(); !status.ok()) {
    Fail(status, now_ns);
    receiver_->Leave();
    return kNeverDue;
  }
  // What is missing may be in a buffer of the kernel: a line that has more packets has been read up
  // to its last one.
  const int64_t heard_ns = has_all ? now_ns : *std::ranges::min_element(heard_ns_);
  if (heard_ns >= decoder_->deadline_ns()) {
    decoder_->OnTime(heard_ns, rows());
    Collect(now_ns);
  }
  const bool waits = decoder_->deadline_ns() != kInfinityLong;
  if (requests_ && has_all && waits) RequestMissing(now_ns);
  int64_t call_ns = std::min(Finish(now_ns), decoder_->deadline_ns());
  if (requests_ && waits) call_ns = std::min(call_ns, now_ns + kDisorderNs);
  return call_ns;
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
