#pragma once

// A message file of LOBSTER: a day of orders and trades of one Nasdaq stock, made from ITCH. A line
// is a message:
//
//   34200.004241176,1,16113575,18,5853300,1
//   |               | |        |  |       direction: 1 buy, -1 sell, of the resting order
//   |               | |        |  price in 1/10000 dollar; of type 7: -1, 0 or 1
//   |               | |        size in shares
//   |               | order; of type 6: the kind of cross
//   |               type: 1 added, 2 cancelled in part, 3 deleted, 4 executed, 5 hidden order
//   |               executed, 6 cross, 7 halt
//   seconds since midnight in New York; trailing zeros are left out, noise of floats occurs
//
// The last line may lack its end: a direction is 1 or -1, so a whole line is known by it.
//
// With the orderbook file of the same messages (lobster_book.h), each message is followed by what
// it changed in the book.

#include <memory>
#include <string>
#include <vector>

#include "feed/market/lobster/lobster_book.h"
#include "feed/market/text_reader.h"

namespace tickstack::feed::market {

// What the name of a file says, such as `AAPL_2012-06-21_34200000_57600000_message_10.csv`.
struct LobsterFileName {
  std::string symbol;
  std::string date;  // `2012-06-21`.
};

// Returns empty texts if the name has another form.
LobsterFileName ParseLobsterFileName(const std::string& path);

// Threads: one owner.
class LobsterFile final : public TextReader {
 public:
  // `midnight_ns`: midnight in New York on the day of the messages, in ns since 2000 UTC.
  // `book_path`: the orderbook file; empty: there is none. Errors of ByteStream::Open.
  static absl::StatusOr<std::unique_ptr<LobsterFile>> Open(const std::string& path,
                                                           std::string symbol, int64_t midnight_ns,
                                                           std::string book_path = {});

  absl::Status Rewind() override;

 private:
  struct Message {
    std::string_view price_text;
    int64_t id = 0;
    int64_t size = 0;
    double price = 0;
    char side = ' ';
  };

  LobsterFile(const std::string& path, std::string symbol, int64_t midnight_ns,
              std::string book_path)
      : TextReader(path, {.last_line_may_lack_end = true}),
        symbol_(std::move(symbol)),
        midnight_ns_(midnight_ns),
        book_path_(std::move(book_path)) {}
  absl::StatusOr<bool> TakeOther(const TextLine& line) override;
  absl::Status CheckEnd(int64_t records) override;
  Why Parse(std::string_view line, Record& record) override;
  Why ParseNumbers(char type);
  void Emit(const Record& record, EventSink& sink) override;
  void EmitMessage(const Record& record, EventSink& sink);
  void EmitOrder(const EventHead& head, char action, EventSink& sink) const;
  void EmitTrade(const EventHead& head, std::string_view cond, EventSink& sink) const;

  const std::string symbol_;
  const int64_t midnight_ns_;
  const std::string book_path_;
  std::unique_ptr<LobsterBook> book_;  // nullptr: no orderbook file.
  std::vector<std::string_view> fields_;
  Message message_;  // The last one that was parsed.
  std::string cond_, book_why_;
};

}  // namespace tickstack::feed::market
