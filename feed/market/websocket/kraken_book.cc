#include "feed/market/websocket/kraken_book.h"

#include <zlib.h>

namespace tickstack::feed::market {
namespace {

constexpr size_t kChecksumLevels = 10;
constexpr std::string_view kDepthCond = "depth";

// Returns the digits from the first one that is not 0, without the decimal point.
std::string ChecksumDigits(std::string_view number) {
  std::string digits;
  for (const char c : number) {
    if (c == '.' || (c == '0' && digits.empty())) continue;
    digits += c;
  }
  return digits;
}

template <typename Side>
void AddBest(const Side& side, std::string& text) {
  size_t levels = 0;
  for (const auto& [price, digits] : side) {
    if (++levels > kChecksumLevels) break;
    text += digits.price;
    text += digits.amount;
  }
}

template <typename Side>
void CutSide(Side& side, char code, size_t depth, std::vector<BookLevel>& removed) {
  if (side.size() <= depth) return;
  const auto first = std::next(side.begin(), static_cast<std::ptrdiff_t>(depth));
  for (auto at = first; at != side.end(); ++at) {
    removed.push_back({code, at->first, 0, kNullLong, kDepthCond});
  }
  side.erase(first, side.end());
}

}  // namespace

void KrakenBook::Apply(const Change& change) {
  const auto apply = [&](auto& side) {
    if (change.level.amount == 0) {
      side.erase(change.level.price);
    } else {
      side[change.level.price] = {ChecksumDigits(change.price_digits),
                                  ChecksumDigits(change.amount_digits)};
    }
  };
  change.level.side == 'B' ? apply(bids_) : apply(asks_);
}

void KrakenBook::Cut(std::vector<BookLevel>& removed) {
  CutSide(bids_, 'B', depth_, removed);
  CutSide(asks_, 'S', depth_, removed);
}

uint32_t KrakenBook::Checksum() const {
  std::string text;
  AddBest(asks_, text);
  AddBest(bids_, text);
  return static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size())));
}

}  // namespace tickstack::feed::market
