#pragma once

// Tracks each book that a stream of a connection updates: whether the rows up to now make the
// exchange's book, and which messages are missing.
//
//                        snapshot
//   kNone, kBroken ----------------------------------> kWhole --- updates --.
//        '--- snapshot by HTTP ---> kGiven --- first ----^  ^---------------'
//                                              update    '--- gap ---> kBroken
//
// A snapshot by HTTP comes apart from the stream. Updates that it has already are not applied to
// it. Those that came before it, but are newer, are sent again after it. The first update that is
// applied must begin where the snapshot ends.
//
// Levels that are part of no book have `unsynced` as `cond`: those before the first snapshot,
// after a gap, and those that a snapshot has already. Without them, the levels make the exchange's
// book.
//
// A gap is open until a snapshot, a new connection, another gap or the end of the recording closes
// it, and is sent then.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/name_map.h"
#include "feed/market/event_reader.h"
#include "feed/market/events.h"

namespace tickstack::feed::market {

inline constexpr std::string_view kClearCond = "clear";
inline constexpr std::string_view kSnapshotCond = "snapshot";
inline constexpr std::string_view kUnsyncedCond = "unsynced";

// A price of a message, with the amount there.
struct BookLevel {
  char side = ' ';
  double price = kNullPrice;
  double amount = kNullPrice;
  int64_t time_ns = kNullLong;  // Of this level; kNullLong: that of the message.
  std::string_view cond{};      // In place of that of the message.
};

// The numbers of an update: those behind `previous` to `last`.
struct BookUpdate {
  std::optional<int64_t> previous;  // nullopt: the exchange does not tell.
  int64_t last = 0;
};

struct BookStream {
  enum class State { kNone, kGiven, kWhole, kBroken };

  std::string session, channel, sym;
  State state = State::kNone;
  int64_t snapshot_number = 0;  // kGiven: of the snapshot.
  std::optional<int64_t> last;  // Number of the last update.
  int64_t last_recv_ns = kNullLong;

  bool is_whole() const { return state == State::kWhole; }

 private:
  friend class BookStreams;
  // An update that may be newer than the next snapshot by HTTP.
  struct Held {
    BookUpdate update;
    int64_t time_ns, recv_ns, seq;
    std::vector<BookLevel> levels;
  };
  struct OpenGap {
    int64_t first_seq, last_seq;
    int64_t first_time_ns, last_time_ns;
  };
  std::vector<Held> held_;
  std::optional<OpenGap> gap_;
};

// Threads: one owner. Memory: 500 bytes for each stream, and what is held.
class BookStreams {
 public:
  static constexpr size_t kStreamsMax = 16'384;
  static constexpr size_t kConnectionsMax = 4'096;
  static constexpr size_t kHeldLevelsMax = 1'000'000;  // In all streams; 48 bytes each.

  explicit BookStreams(MessageCounts& counts) : counts_(counts) {}
  void Reset();

  // Returns the stream; nullptr if there are too many.
  BookStream* Find(std::string_view session, std::string_view channel, std::string_view sym);
  // Returns the symbol of all streams; nullopt if there is none, or more than one.
  std::optional<std::string_view> OnlySymbol() const;

  // Sends levels; the last of them is complete. Before those of a snapshot, sends one without a
  // side that says that all earlier levels are gone.
  static void Send(const EventHead& head, std::span<const BookLevel> levels, std::string_view cond,
                   EventSink& sink);

  // Takes a snapshot that came in the stream.
  void Begin(BookStream& stream, const EventHead& head, std::span<const BookLevel> levels,
             EventSink& sink);
  // Takes an update of a book whose snapshots come in the stream.
  void Change(BookStream& stream, const EventHead& head, std::span<const BookLevel> levels,
              EventSink& sink);

  // The same for an update with numbers.
  void Chain(BookStream& stream, const EventHead& head, const BookUpdate& update,
             std::span<const BookLevel> levels, EventSink& sink);

  // Takes an update of a book whose snapshots come by HTTP.
  void Update(BookStream& stream, const EventHead& head, const BookUpdate& update,
              std::span<const BookLevel> levels, EventSink& sink);
  // Takes a snapshot that came by HTTP, for all streams of its symbol.
  void Snapshot(const EventHead& head, int64_t number, std::span<const BookLevel> levels,
                EventSink& sink);

  // Opens a gap with these numbers, or kNullLong, at a message received at `recv_ns`. The book is
  // broken.
  void Break(BookStream& stream, int64_t first_seq, int64_t last_seq, int64_t recv_ns,
             EventSink& sink);
  // Breaks the books of a connection without a gap for each, and sends one for all of it.
  void BreakAll(std::string_view session, int64_t first_seq, int64_t last_seq, int64_t since_ns,
                int64_t recv_ns, EventSink& sink);

  // Returns false for another connection than those that had messages, if they are too many.
  bool HasRoomFor(std::string_view session) const;
  // Notes a message of a connection that there is room for.
  void Touch(std::string_view session, int64_t recv_ns);
  // Notes that a connection was made. If it is not the first, what was sent before is missing: that
  // is a gap, and its streams begin anew.
  void Connect(std::string_view session, int64_t recv_ns, EventSink& sink);
  // Returns when the last message of a connection was received after which nothing is missing that
  // was not sent as a gap; kNullLong if it had no message.
  int64_t CompleteNs(std::string_view session) const;
  // Returns whether a book has a gap that a snapshot must close.
  bool HasBroken() const;
  // Returns the symbols of all books that have updates, and lack a snapshot.
  std::vector<std::string_view> SymbolsWithoutSnapshot() const;
  // Closes all gaps at the end of the recording.
  void End(int64_t recv_ns, EventSink& sink);

 private:
  using Key = std::tuple<std::string, std::string, std::string>;
  struct EarlySnapshot {
    int64_t number, recv_ns;
  };

  bool SendRepeated(const BookStream& stream, const EventHead& head, const BookUpdate& update,
                    std::span<const BookLevel> levels, EventSink& sink);
  void CloseGap(BookStream& stream, std::string_view why, int64_t recv_ns, EventSink& sink);
  void CheckChain(BookStream& stream, const BookUpdate& update, int64_t recv_ns, EventSink& sink);
  void Join(BookStream& stream, const BookUpdate& update, int64_t recv_ns, EventSink& sink);
  void Hold(BookStream& stream, const EventHead& head, const BookUpdate& update,
            std::span<const BookLevel> levels);
  void ForgetHeld(BookStream& stream);
  static bool CanTake(const BookStream& stream, int64_t number);
  void Take(BookStream& stream, int64_t number, int64_t recv_ns, EventSink& sink);

  MessageCounts& counts_;
  std::map<Key, BookStream> streams_;
  NameMap<int64_t> connections_;  // By name: time of receipt of the last message.
  // By symbol: those by HTTP that came before the first update of a stream.
  NameMap<EarlySnapshot> early_snapshots_;
  size_t held_levels_ = 0;
};

}  // namespace tickstack::feed::market
