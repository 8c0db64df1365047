#include "feed/market/lobster/lobster_book.h"

#include <algorithm>

#include "base/status.h"
#include "feed/market/lobster/lobster_price.h"

namespace tickstack::feed::market {
namespace {

constexpr size_t kLobsterLevelFields = 4;  // Price and size of an ask, and of a bid.
constexpr std::string_view kNoLobsterAsk = "9999999999", kNoLobsterBid = "-9999999999";

}  // namespace

absl::StatusOr<std::unique_ptr<LobsterBook>> LobsterBook::Open(const std::string& path) {
  TS_ASSIGN_OR_RETURN(std::unique_ptr<LineReader> lines, LineReader::Open(path));
  return std::unique_ptr<LobsterBook>(new LobsterBook(std::move(lines)));
}

// Moves to the next line that is not empty; false at the end.
absl::StatusOr<bool> LobsterBook::ReadLine() {
  while (true) {
    TS_ASSIGN_OR_RETURN(const std::optional<TextLine> line, lines_->Next());
    if (!line) return false;
    line_ = *line;
    if (!line->text.empty()) return true;
  }
}

absl::Status LobsterBook::Advance() {
  TS_ASSIGN_OR_RETURN(const bool more, ReadLine());
  if (!more) {
    return DataLoss("{}: it ends after line {}, before the messages do", lines_->path(),
                    line_.number);
  }
  why_ = Parse();
  if (line_.has_end || why_.empty()) return absl::OkStatus();
  return DataLoss("{}: byte {}: the file is cut off within line {}: {}", lines_->path(),
                  line_.offset, line_.number, why_);
}

std::string_view LobsterBook::Parse() {
  SplitFields(line_.text, ',', fields_);
  if (fields_.size() % kLobsterLevelFields != 0) return "it does not have 4 fields for each level";
  if (field_count_ != 0 && fields_.size() != field_count_) return "its number of levels is another";
  new_bids_.clear();
  new_asks_.clear();
  for (size_t at = 0; at < fields_.size(); at += kLobsterLevelFields) {
    std::string_view why = ParseLevel(at, 'S', new_asks_);
    if (why.empty()) why = ParseLevel(at + 2, 'B', new_bids_);
    if (!why.empty()) return why;
  }
  if (!BookView::AreInOrder(new_asks_, 'S')) return "its asks are not in order";
  if (!BookView::AreInOrder(new_bids_, 'B')) return "its bids are not in order";
  field_count_ = fields_.size();
  if (!line_.has_end) KeepLastBid(new_bids_);
  bids_.swap(new_bids_);
  asks_.swap(new_asks_);
  return {};
}

std::string_view LobsterBook::ParseLevel(size_t field, char side,
                                         std::vector<PriceLevel>& levels) const {
  const std::optional<int64_t> size = ParseInteger(fields_[field + 1]);
  if (!size || *size < 0) return "a size is not a number of shares";
  if (fields_[field] == (side == 'S' ? kNoLobsterAsk : kNoLobsterBid)) return {};
  const std::optional<double> price = ParseLobsterPrice(fields_[field]);
  if (!price) return "a price is not a number of 1/10000 dollar";
  if (*size > 0) levels.push_back({*price, *size});
  return {};
}

// Puts the level that follows in the view before in place of the last bid, whose size is not known.
void LobsterBook::KeepLastBid(std::vector<PriceLevel>& bids) const {
  if (bids.size() < fields_.size() / kLobsterLevelFields) return;  // The last number is a 0.
  bids.pop_back();
  const auto worse = std::ranges::find_if(bids_, [&bids](const PriceLevel& level) {
    return bids.empty() || level.price < bids.back().price;
  });
  if (worse != bids_.end()) bids.push_back(*worse);
}

absl::Status LobsterBook::CheckEnd() {
  TS_ASSIGN_OR_RETURN(const bool more, ReadLine());
  if (!more) return absl::OkStatus();
  return DataLoss("{}: line {}: there is no message for it", lines_->path(), line_.number);
}

}  // namespace tickstack::feed::market
