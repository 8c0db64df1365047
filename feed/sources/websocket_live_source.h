#pragma once

// Messages of a crypto exchange that are received live by a websocket, as a source:
// docs/feeds/crypto.md.
//
//   WebsocketLine -> RecordDecoder -> SpooledSource
//
// The rows are those that a recording of the same messages gives. What is added is what keeps them
// right:
//
// - Each new connection is a gap from the last message of the one before, also of the process
//   before, and its books begin anew.
// - A book that lacks a snapshot is requested by HTTP, if the exchange has that. Otherwise a book
//   with a gap makes a new connection, which begins with snapshots. So does a message that does not
//   fit, and may have been about a book.
// - While too much is kept, there is no connection.

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "feed/live/websocket_line.h"
#include "feed/market/websocket/record_decoder.h"
#include "feed/sources/spooled_source.h"
#include "feed/sources/websocket_source.h"

namespace tickstack::feed {

// Threads: one owner; the line has a thread of its own.
class WebsocketLiveSource final : public SpooledSource {
 public:
  // Opens the spool. kInvalidArgument, with the option at fault; errors of the spool.
  static absl::StatusOr<std::unique_ptr<WebsocketLiveSource>> Create(
      const WebsocketOptions& options, MarketRows rows);
  ~WebsocketLiveSource() override;

  SourceCounts Counts() const override { return NamedCounts(decoder_->counts()); }
  std::vector<LineStats> Lines() const override;

  // LiveInput:
  int fd() const override { return line_->fd(); }
  int64_t Receive(int64_t now_ns) override;

 private:
  // A book that can be requested.
  struct Snapshot {
    wire::WebAddress address;
    std::string sym;
    bool is_asked = false;  // The answer is on its way.
    int64_t next_ns = 0;    // When it may be requested again,
    int64_t wait_ns = 0;    // and how long it waits after that.
  };

  WebsocketLiveSource(const WebsocketOptions& options, MarketRows rows,
                      std::unique_ptr<live::WebsocketLine> line,
                      std::unique_ptr<market::RecordDecoder> decoder,
                      std::vector<Snapshot> snapshots, std::unique_ptr<live::RowSpool> spool);
  static absl::StatusOr<std::vector<Snapshot>> SnapshotsOf(const WebsocketOptions& options,
                                                           const market::VenueDecoder& venue);

  absl::Status Join() override;
  std::vector<market::StreamPosition> Positions() const override {
    return decoder_->Positions(session_);
  }
  void SetDrops(bool drops, int64_t now_ns) override;
  const market::MessageCounts& MessagesCounted() const override { return decoder_->counts(); }

  void Take(const live::LineRecord& received);
  void Decode(const live::LineRecord& received, market::Record::Kind kind);
  void OnConnection(bool is_there);
  void Reconnect(const absl::Status& why);
  void CheckBooks(int64_t now_ns);
  void WarnWithoutSnapshot(std::string_view sym);

  const std::unique_ptr<live::WebsocketLine> line_;
  const std::unique_ptr<market::RecordDecoder> decoder_;
  std::vector<Snapshot> snapshots_;
  const std::string session_;  // What the connection is called: the venue.
  // True: messages are passed over until the next connection, which begins the books anew.
  bool waits_ = true;
  bool reconnects_ = false;       // The line was asked to.
  bool checks_books_ = false;     // They may have changed, or one lacks a snapshot.
  int64_t checked_ns_ = 0;        // When they were checked.
  std::set<std::string> warned_;  // Symbols of which a warning was given.
  LineStats stats_;
};

}  // namespace tickstack::feed
