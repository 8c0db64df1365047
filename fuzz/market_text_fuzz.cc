// Reads any bytes as a text file of each format. It must not crash, and every record must be
// counted once: decoded, unknown or bad. Read again, the file must give the same counts.

#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>

#include "base/check.h"
#include "base/time.h"
#include "feed/market/event_testing.h"
#include "feed/market/lobster/lobster_file.h"
#include "feed/market/taq/taq_file.h"
#include "feed/market/tardis/tardis_file.h"
#include "fuzz/scratch_folder.h"

namespace tickstack::feed::market {
namespace {

constexpr size_t kTextsKeptMax = 10'000;

int64_t CountedRecords(const MessageCounts& counts) {
  int64_t sum = 0;
  for (const auto& by_type : {counts.decoded, counts.unknown, counts.bad}) {
    sum = std::accumulate(by_type.begin(), by_type.end(), sum);
  }
  return sum;
}

int64_t ReadRecords(EventReader& reader) {
  EventTexts events;
  int64_t records = 0;
  while (true) {
    const absl::StatusOr<bool> more = reader.Advance();
    if (!more.ok() || !*more) break;
    ++records;
    reader.time_ns();
    TS_CHECK(reader.Decode(events).ok());
    if (events.texts.size() > kTextsKeptMax) events.texts.clear();
  }
  TS_CHECK(CountedRecords(reader.counts()) == records);
  return records;
}

void ReadTwice(absl::StatusOr<std::unique_ptr<EventReader>> reader) {
  if (!reader.ok()) return;
  const int64_t records = ReadRecords(**reader);
  TS_CHECK((*reader)->Rewind().ok());
  TS_CHECK(ReadRecords(**reader) == records);
}

void Run(std::span<const std::byte> data) {
  static const ScratchFolder folder;
  const std::string path = folder.Write("a", data);
  ReadTwice(LobsterFile::Open(path, "AAPL", 0));
  // The messages before a line `book`, and behind it what their orderbook file has.
  const std::string_view text(reinterpret_cast<const char*>(data.data()), data.size());
  constexpr std::string_view kBook = "book\n";
  if (const size_t at = text.find(kBook); at != std::string_view::npos) {
    const std::string messages = folder.Write("messages", data.first(at));
    const std::string book = folder.Add("book", data.subspan(at + kBook.size()));
    ReadTwice(LobsterFile::Open(messages, "AAPL", 0, book));
  }
  ReadTwice(TardisFile::Open(path));
  // Days of the files in the corpus.
  ReadTwice(TaqFile::Open(path, {.day = DaysFromCivil(2016, 10, 3), .has_amounts = true}));
  for (const TaqKind kind : {TaqKind::kTrade, TaqKind::kQuote, TaqKind::kNbbo}) {
    ReadTwice(TaqFile::Open(path, {.day = DaysFromCivil(2014, 2, 6), .kind = kind}));
  }
}

}  // namespace
}  // namespace tickstack::feed::market

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tickstack::feed::market::Run(std::as_bytes(std::span(data, size)));
  return 0;
}
