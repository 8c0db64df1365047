#pragma once

// A feed of an exchange that is received live, as a source: docs/feeds/live.md.
//
//   lines -> LineReceiver -> PacketDecoder (arbiter) -> SpooledSource
//
// What the lines sent while the feed was away is missing in the sequence numbers, and becomes rows
// of `gap`; so do the numbers of messages that give no rows, since too much is kept.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "feed/live/line_receiver.h"
#include "feed/market/packet_reader.h"
#include "feed/sources/spooled_source.h"

namespace tickstack::feed {

struct LiveSetup {
  std::unique_ptr<market::PacketReader> decoder;  // It reads no file.
  MarketRows rows;
  std::string source;  // Such as `itch`.
  // Receives the lines; nullptr: it is made from the options.
  std::unique_ptr<live::LineReceiver> receiver = nullptr;
};

// Threads: one owner.
class LiveSource final : public SpooledSource {
 public:
  // Opens the spool, and checks that the lines can be joined. Errors of these.
  static absl::StatusOr<std::unique_ptr<LiveSource>> Create(LiveSetup setup,
                                                            const MarketOptions& options);
  ~LiveSource() override;

  void MoveClock(int64_t ns) override { decoder_->MoveClock(ns); }
  SourceCounts Counts() const override;
  std::vector<LineStats> Lines() const override;

  // LiveInput:
  int fd() const override { return receiver_->fd(); }
  int64_t Receive(int64_t now_ns) override;

 private:
  LiveSource(LiveSetup setup, const MarketOptions& options,
             std::unique_ptr<live::LineReceiver> receiver, std::unique_ptr<live::RowSpool> spool);
  absl::Status Join() override { return receiver_->Join(); }
  std::vector<market::StreamPosition> Positions() const override { return decoder_->Positions(); }
  void SetPaused(bool paused) override { receiver_->SetPaused(paused); }
  void SetDrops(bool drops, int64_t now_ns) override { decoder_->SetDrops(drops, now_ns, rows()); }
  const market::MessageCounts& MessagesCounted() const override { return decoder_->counts(); }
  void TakeDatagram(size_t line, const market::Datagram& datagram, int64_t recv_ns);
  void RequestMissing(int64_t now_ns);

  const std::unique_ptr<market::PacketReader> decoder_;
  const std::unique_ptr<live::LineReceiver> receiver_;
  std::vector<int64_t> bad_;                // By line: packets that do not fit.
  std::vector<int64_t> heard_ns_;           // By line: what arrived up to then has been taken.
  const bool requests_;                     // A server is asked for missing messages.
  int64_t requested_ns_ = 0;                // When it was last asked for all that is missing.
  std::map<std::string, uint64_t> wanted_;  // By session: the number that it was last asked for.
};

}  // namespace tickstack::feed
