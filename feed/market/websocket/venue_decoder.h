#pragma once

// What the decoders of all venues have in common. A decoder takes the messages of a recording in
// order, and sends their events.

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "feed/market/event_reader.h"
#include "feed/market/websocket/book_streams.h"
#include "feed/market/websocket/json_fields.h"
#include "feed/market/websocket/json_text.h"
#include "feed/market/websocket/recording_file.h"

namespace tickstack::feed::market {

struct VenueMessage {
  const Record& record;
  JsonValue root;
  EventHead head;  // With the time of receipt, and the message's number as `seq`.
  EventSink& sink;
};

// What became of a message.
struct VenueOutcome {
  std::string_view type{};  // Under which it is counted; valid as long as the message.
  std::string why{};        // Why it does not fit its type, and gave no event; empty if it does.
  bool is_known = true;     // False: the decoder makes no events of the type.
};

// Threads: one owner.
class VenueDecoder {
 public:
  explicit VenueDecoder(MessageCounts& counts) : books_(counts) {}
  virtual ~VenueDecoder() = default;
  VenueDecoder(const VenueDecoder&) = delete;
  VenueDecoder& operator=(const VenueDecoder&) = delete;

  VenueOutcome Decode(const VenueMessage& message) {
    if (message.record.kind == Record::Kind::kAnswer) return DecodeAnswer(message);
    const std::string_view connection = message.record.connection;
    if (!books_.HasRoomFor(connection)) return {"connection", "there are too many connections"};
    VenueOutcome outcome = DecodeMessage(message);
    books_.Touch(connection, message.record.recv_ns);
    return outcome;
  }
  // Notes that a connection was made.
  virtual void Connect(std::string_view connection, int64_t recv_ns, EventSink& sink) {
    books_.Connect(connection, recv_ns, sink);
  }
  // Closes the gaps at the end of the recording.
  void End(int64_t recv_ns, EventSink& sink) { books_.End(recv_ns, sink); }

  // For connections that are live. A book of these exchanges begins with an answer by HTTP; returns
  // the symbol that a request asks for, or an empty text. Of others, it is always empty.
  virtual std::string_view SymbolOfRequest(std::string_view /*address*/) const { return {}; }
  virtual bool has_requests() const { return false; }
  const BookStreams& books() const { return books_; }
  // Notes that a connection of an earlier process had its last message then.
  void Continue(std::string_view connection, int64_t recv_ns) { books_.Touch(connection, recv_ns); }

 protected:
  virtual VenueOutcome DecodeMessage(const VenueMessage& message) = 0;
  // Takes an answer to a request by HTTP.
  virtual VenueOutcome DecodeAnswer(const VenueMessage&) { return Unknown("answer"); }

  static VenueOutcome Unknown(std::string_view type) {
    VenueOutcome outcome{type};
    outcome.is_known = false;
    return outcome;
  }
  // Sends the best bid and ask if all fit. A price of 0 is that of an empty side.
  static void SendQuote(const EventHead& head, JsonValue bid, JsonValue bid_amount, JsonValue ask,
                        JsonValue ask_amount, JsonFields& fields, EventSink& sink);
  // Sends trades if all fit, and returns why they do not.
  static std::string SendTrades(const std::vector<Trade>& trades, const JsonFields& fields,
                                EventSink& sink);
  // The channel of answers to requests.
  static constexpr std::string_view kHttpChannel = "http";
  static constexpr std::string_view kTooManyStreams = "there are too many streams of books";

  BookStreams books_;
  std::vector<BookLevel> levels_;  // Those of the message.
};

// Returns the part of an address between `before` and the next of `&`, `?` and `/`; empty if it
// does not have `before`.
std::string_view AddressPart(std::string_view address, std::string_view before);

// Returns the decoder of a venue, such as kraken. kInvalidArgument, with the names of all, for
// others.
absl::StatusOr<std::unique_ptr<VenueDecoder>> MakeVenueDecoder(std::string_view venue,
                                                               MessageCounts& counts);

}  // namespace tickstack::feed::market
