#include "feed/market/lobster/lobster_file.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/status.h"
#include "base/time.h"
#include "feed/market/lobster/lobster_price.h"
#include "feed/market/text_fields.h"

namespace tickstack::feed::market {
namespace {

// Positions of fields.
struct LobsterField {
  enum : size_t { kTime, kType, kOrder, kSize, kPrice, kDirection, kCount };
};

struct LobsterType {
  enum : char {
    kAdded = '1',
    kCancelledInPart = '2',
    kDeleted = '3',
    kExecuted = '4',
    kHiddenExecuted = '5',
    kCross = '6',
    kHalt = '7',
  };
};

bool IsHaltState(std::string_view price) { return price == "-1" || price == "0" || price == "1"; }

}  // namespace

LobsterFileName ParseLobsterFileName(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  const size_t symbol_end = name.find('_');
  if (symbol_end == std::string::npos) return {};
  const size_t date_end = name.find('_', symbol_end + 1);
  if (date_end == std::string::npos) return {};
  LobsterFileName found = {name.substr(0, symbol_end),
                           name.substr(symbol_end + 1, date_end - symbol_end - 1)};
  if (found.symbol.empty() || !ParseDate(found.date)) return {};
  return found;
}

absl::StatusOr<std::unique_ptr<LobsterFile>> LobsterFile::Open(const std::string& path,
                                                               std::string symbol,
                                                               int64_t midnight_ns,
                                                               std::string book_path) {
  std::unique_ptr<LobsterFile> file(
      new LobsterFile(path, std::move(symbol), midnight_ns, std::move(book_path)));
  TS_RETURN_IF_ERROR(file->Rewind());
  return file;
}

absl::Status LobsterFile::Rewind() {
  if (!book_path_.empty()) {
    TS_ASSIGN_OR_RETURN(book_, LobsterBook::Open(book_path_));
  }
  return TextReader::Rewind();
}

// Every line is a message: moves to the book after it.
absl::StatusOr<bool> LobsterFile::TakeOther(const TextLine&) {
  if (book_ != nullptr) TS_RETURN_IF_ERROR(book_->Advance());
  return false;
}

absl::Status LobsterFile::CheckEnd(int64_t) {
  return book_ == nullptr ? absl::OkStatus() : book_->CheckEnd();
}

LobsterFile::Why LobsterFile::Parse(std::string_view line, Record& record) {
  SplitFields(line, ',', fields_);
  if (fields_.size() != LobsterField::kCount) return "it does not have 6 fields";
  const std::optional<int64_t> of_day_ns = ParseSecondsNs(fields_[LobsterField::kTime]);
  if (!of_day_ns || *of_day_ns >= kNsPerDay) return "its time is not within a day";
  record.head.time_ns = midnight_ns_ + *of_day_ns;
  record.head.sym = symbol_;
  if (fields_[LobsterField::kType].size() != 1) return "its type is not a digit";
  record.type = fields_[LobsterField::kType][0];
  if (record.type < '0' || record.type > '9') return "its type is not a digit";
  if (record.type < LobsterType::kAdded || record.type > LobsterType::kHalt) return kUnknownType;
  const Why why = ParseNumbers(record.type);
  if (!why.empty() || book_ == nullptr || book_->why().empty()) return why;
  book_why_ = fmt::format("its line of the orderbook file does not fit: {}", book_->why());
  return book_why_;
}

LobsterFile::Why LobsterFile::ParseNumbers(char type) {
  const std::string_view direction = fields_[LobsterField::kDirection];
  if (direction != "1" && direction != "-1") return "its direction is neither 1 nor -1";
  const std::optional<int64_t> id = ParseInteger(fields_[LobsterField::kOrder]);
  if (!id) return "its order is not a number";
  const std::optional<int64_t> size = ParseInteger(fields_[LobsterField::kSize]);
  if (!size || *size < 0) return "its size is not a number of shares";
  const std::optional<double> price = ParseLobsterPrice(fields_[LobsterField::kPrice]);
  if (type == LobsterType::kHalt) {
    if (!IsHaltState(fields_[LobsterField::kPrice]))
      return "its price, the state of a halt, is not -1, 0 or 1";
  } else if (!price) {
    return "its price is not a number of 1/10000 dollar";
  }
  message_ = {fields_[LobsterField::kPrice], *id, *size, price.value_or(0),
              direction == "1" ? 'B' : 'S'};
  return {};
}

void LobsterFile::Emit(const Record& record, EventSink& sink) {
  EmitMessage(record, sink);
  if (book_ != nullptr) book_->Send(record.head, sink);
}

void LobsterFile::EmitMessage(const Record& record, EventSink& sink) {
  switch (record.type) {
    case LobsterType::kAdded:
      return EmitOrder(record.head, 'A', sink);
    case LobsterType::kCancelledInPart:
      return EmitOrder(record.head, 'X', sink);
    case LobsterType::kDeleted:
      return EmitOrder(record.head, 'D', sink);
    case LobsterType::kExecuted:
      EmitOrder(record.head, 'E', sink);
      return EmitTrade(record.head, fields_[LobsterField::kType], sink);
    case LobsterType::kHiddenExecuted:
      return EmitTrade(record.head, fields_[LobsterField::kType], sink);
    case LobsterType::kCross:
      // A cross has no resting order; in place of one, its kind is a negative number.
      message_.side = ' ';
      cond_.assign(fields_[LobsterField::kType]).append(fields_[LobsterField::kOrder]);
      return EmitTrade(record.head, cond_, sink);
    case LobsterType::kHalt:
      return sink.On(Status{record.head, "trading", message_.price_text});
    default:
      return;  // Records of other types were refused.
  }
}

void LobsterFile::EmitOrder(const EventHead& head, char action, EventSink& sink) const {
  Order order{head, action, message_.side, message_.price, message_.size};
  order.id = message_.id;
  sink.On(order);
}

void LobsterFile::EmitTrade(const EventHead& head, std::string_view cond, EventSink& sink) const {
  sink.On(Trade{head, message_.price, message_.size, message_.side, cond});
}

}  // namespace tickstack::feed::market
