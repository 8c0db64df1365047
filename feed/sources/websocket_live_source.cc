#include "feed/sources/websocket_live_source.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/logging.h"
#include "base/printable.h"
#include "base/status.h"
#include "base/time.h"
#include "feed/market/websocket/json_text.h"
#include "wire/tls_context.h"

namespace tickstack::feed {
namespace {

constexpr int64_t kCheckNs = 50'000'000;  // How often the books are checked.
// A book is requested again after kSnapshotWaitNs, twice that, and so on.
constexpr int64_t kSnapshotWaitNs = 5 * kNsPerSecond;
constexpr int64_t kSnapshotWaitNsMax = 300 * kNsPerSecond;
constexpr size_t kWarnedMax = 1'000;

absl::StatusOr<wire::WebAddress> ParseOf(const std::string& text, std::string_view key,
                                         bool is_web_socket) {
  absl::StatusOr<wire::WebAddress> address = wire::ParseWebAddress(text);
  if (!address.ok()) return Annotate(address.status(), key);
  if (address->is_web_socket() == is_web_socket) return address;
  return InvalidArgument("{}: expected an address with {}, found \"{}\"", key,
                         is_web_socket ? "ws:// or wss://" : "http:// or https://", text);
}

absl::Status CheckTexts(const std::string& texts) {
  market::JsonText json;
  for (size_t begin = 0; begin < texts.size();) {
    const size_t end = std::min(texts.find('\n', begin), texts.size());
    const std::string text = texts.substr(begin, end - begin);
    begin = end + 1;
    if (text.empty()) continue;
    if (const std::string why = json.Parse(text); !why.empty()) {
      return InvalidArgument("subscribe: expected a JSON text on each line, found \"{}\": {}",
                             Printable(text), why);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<live::WebsocketLineOptions> LineOptionsOf(const WebsocketOptions& options) {
  if (options.live.lines.size() != 1) {
    return InvalidArgument(
        "lines: {}, expected one address: the messages of two connections cannot be merged",
        options.live.lines.size());
  }
  if (!options.merge.empty()) return InvalidArgument("merge: lines have no files");
  live::WebsocketLineOptions line;
  TS_ASSIGN_OR_RETURN(line.address, ParseOf(options.live.lines[0], "lines", true));
  TS_RETURN_IF_ERROR(CheckTexts(options.subscribe));
  line.client.first_messages = options.subscribe;
  line.client.silence_max = std::chrono::seconds(options.silence_s);
  line.client.message_bytes_max = market::RecordingFile::kRecordBytesMax;
  wire::TlsClientOptions tls;
  tls.ca = options.ca;
  const auto context = wire::TlsClientContext::Load(tls);
  if (!context.ok()) return Annotate(context.status(), "ca");
  line.tls = *context;
  return line;
}

}  // namespace

absl::StatusOr<std::vector<WebsocketLiveSource::Snapshot>> WebsocketLiveSource::SnapshotsOf(
    const WebsocketOptions& options, const market::VenueDecoder& venue) {
  std::vector<Snapshot> snapshots;
  if (!options.snapshot.empty() && !venue.has_requests()) {
    return InvalidArgument("snapshot: {} sends books by the websocket", options.venue);
  }
  for (const std::string& text : options.snapshot) {
    Snapshot& snapshot = snapshots.emplace_back();
    TS_ASSIGN_OR_RETURN(snapshot.address, ParseOf(text, "snapshot", false));
    snapshot.sym = venue.SymbolOfRequest(snapshot.address.ToString());
    snapshot.wait_ns = kSnapshotWaitNs;
    if (!snapshot.sym.empty()) continue;
    return InvalidArgument("snapshot: \"{}\" does not say of which symbol the book is", text);
  }
  return snapshots;
}

absl::StatusOr<std::unique_ptr<WebsocketLiveSource>> WebsocketLiveSource::Create(
    const WebsocketOptions& options, MarketRows rows) {
  TS_ASSIGN_OR_RETURN(std::unique_ptr<market::RecordDecoder> decoder,
                      market::RecordDecoder::Create(options.venue));
  TS_ASSIGN_OR_RETURN(std::vector<Snapshot> snapshots, SnapshotsOf(options, decoder->venue()));
  TS_ASSIGN_OR_RETURN(live::WebsocketLineOptions line_options, LineOptionsOf(options));
  TS_ASSIGN_OR_RETURN(std::unique_ptr<live::WebsocketLine> line,
                      live::WebsocketLine::Create(std::move(line_options)));
  TS_ASSIGN_OR_RETURN(std::unique_ptr<live::RowSpool> spool, live::RowSpool::Open(options.folder));
  return std::unique_ptr<WebsocketLiveSource>(
      new WebsocketLiveSource(options, std::move(rows), std::move(line), std::move(decoder),
                              std::move(snapshots), std::move(spool)));
}

WebsocketLiveSource::WebsocketLiveSource(const WebsocketOptions& options, MarketRows rows,
                                         std::unique_ptr<live::WebsocketLine> line,
                                         std::unique_ptr<market::RecordDecoder> decoder,
                                         std::vector<Snapshot> snapshots,
                                         std::unique_ptr<live::RowSpool> spool)
    : SpooledSource(
          std::move(rows), options,
          fmt::format("websocket live venue={} lines={}", options.venue, line->address().Name()),
          std::move(spool)),
      line_(std::move(line)),
      decoder_(std::move(decoder)),
      snapshots_(std::move(snapshots)),
      session_(options.venue) {
  stats_.name = line_->address().Name();
  for (const market::StreamPosition& position : Continue()) decoder_->Continue(position);
}

WebsocketLiveSource::~WebsocketLiveSource() { Stop(); }

absl::Status WebsocketLiveSource::Join() {
  line_->Start();
  return absl::OkStatus();
}

void WebsocketLiveSource::SetDrops(bool drops, int64_t /*now_ns*/) {
  OnConnection(false);
  drops ? line_->Suspend() : line_->Resume();
}

// Notes that there is a new connection, or none.
void WebsocketLiveSource::OnConnection(bool is_there) {
  waits_ = !is_there;
  reconnects_ = false;
  for (Snapshot& snapshot : snapshots_) snapshot.is_asked = false;
}

void WebsocketLiveSource::Reconnect(const absl::Status& why) {
  if (!waits_ && !std::exchange(reconnects_, true)) line_->Reconnect(why);
}

void WebsocketLiveSource::Take(const live::LineRecord& received) {
  using Kind = live::LineRecord::Kind;
  switch (received.kind) {
    case Kind::kConnected:
      OnConnection(true);
      return Decode(received, market::Record::Kind::kConnected);
    case Kind::kMessage:
      ++stats_.packets;
      stats_.bytes += static_cast<int64_t>(received.text.size());
      return Decode(received, market::Record::Kind::kReceived);
    case Kind::kAnswer:
      return Decode(received, market::Record::Kind::kAnswer);
    case Kind::kClosed:
      OnConnection(false);
      return decoder_->counts().AddNamed("lost_connections");
    case Kind::kNotConnected:
      return decoder_->counts().AddNamed("failed_connections");
    case Kind::kNoAnswer:
      decoder_->counts().AddNamed("failed_requests");
      break;
  }
  for (Snapshot& snapshot : snapshots_) {
    if (snapshot.address.ToString() == received.address) snapshot.is_asked = false;
  }
}

void WebsocketLiveSource::Decode(const live::LineRecord& received, market::Record::Kind kind) {
  if (waits_) return;
  checks_books_ = true;
  const market::Record record = {.kind = kind,
                                 .recv_ns = received.recv_ns,
                                 .connection = session_,
                                 .address = received.address,
                                 .text = received.text};
  const auto place = [&] { return received.address.empty() ? stats_.name : received.address; };
  const market::RecordDecoder::Outcome outcome = decoder_->Take(record, place, rows());
  Collect(received.recv_ns);
  if (kind == market::Record::Kind::kAnswer) {
    for (Snapshot& snapshot : snapshots_) {
      if (snapshot.address.ToString() == received.address) snapshot.is_asked = false;
    }
  }
  if (outcome.why.empty()) return;
  ++stats_.bad;
  if (!outcome.concerns_books || kind == market::Record::Kind::kAnswer) return;
  Reconnect(InvalidArgument("a message does not fit, and books may be wrong: {}", outcome.why));
}

// Requests the snapshots that books lack, or makes a new connection if books are broken for good.
void WebsocketLiveSource::CheckBooks(int64_t now_ns) {
  checks_books_ = false;
  checked_ns_ = now_ns;
  if (!decoder_->venue().has_requests()) {
    if (decoder_->venue().books().HasBroken()) {
      Reconnect(DataLoss("a book has a gap, which the snapshot of a new connection closes"));
    }
    return;
  }
  std::vector<std::string_view> lacking = decoder_->venue().books().SymbolsWithoutSnapshot();
  for (Snapshot& snapshot : snapshots_) {
    const bool lacks = std::erase(lacking, snapshot.sym) > 0;
    if (!lacks) snapshot.wait_ns = kSnapshotWaitNs;
    checks_books_ |= lacks;
    if (!lacks || snapshot.is_asked || waits_ || now_ns < snapshot.next_ns) continue;
    snapshot.is_asked = true;
    snapshot.next_ns = now_ns + snapshot.wait_ns;
    snapshot.wait_ns = std::min(2 * snapshot.wait_ns, kSnapshotWaitNsMax);
    line_->Request(snapshot.address);
  }
  for (const std::string_view sym : lacking) WarnWithoutSnapshot(sym);
}

void WebsocketLiveSource::WarnWithoutSnapshot(std::string_view sym) {
  if (warned_.size() == kWarnedMax || !warned_.emplace(sym).second) return;
  LogWarn("no snapshot for a book: its levels are unsynced venue={} sym={} see=snapshot", session_,
          Printable(sym));
}

int64_t WebsocketLiveSource::Receive(int64_t now_ns) {
  if (!is_receiving()) return kNeverDue;
  CheckRoom(now_ns);
  line_->Receive([this](const live::LineRecord& received) { Take(received); });
  const bool is_early = now_ns - checked_ns_ < kCheckNs && now_ns >= checked_ns_;
  if (checks_books_ && !is_early) CheckBooks(now_ns);
  int64_t call_ns = Finish(now_ns);
  if (checks_books_) call_ns = std::min(call_ns, checked_ns_ + kCheckNs);
  return call_ns;
}

std::vector<LineStats> WebsocketLiveSource::Lines() const {
  LineStats stats = stats_;
  stats.repeated = decoder_->counts().repeated;
  return {stats};
}

}  // namespace tickstack::feed
