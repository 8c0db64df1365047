#include "measure/clients/question_text.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/file.h"
#include "base/status.h"
#include "base/time.h"

namespace tickstack::measure {
namespace {

constexpr uint64_t kSymbolFileBytesMax = uint64_t{16} << 20;

// Returns the first entry whose running sum is above `share` of the total.
size_t IndexAt(const std::vector<double>& up_to, double share) {
  const auto at = std::upper_bound(up_to.begin(), up_to.end(), share * up_to.back());
  return static_cast<size_t>(std::min(at, up_to.end() - 1) - up_to.begin());
}

// Returns a number from 0 to below 1.
double ShareOf(uint64_t random) { return static_cast<double>(random >> 11) * 0x1p-53; }

void FillIn(std::string& text, std::string_view placeholder, std::string_view with) {
  for (size_t at = text.find(placeholder); at != std::string::npos;
       at = text.find(placeholder, at + with.size())) {
    text.replace(at, placeholder.size(), with);
  }
}

}  // namespace

bool IsPlainSymbol(std::string_view text) {
  if (text.empty()) return false;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '_';
    if (!plain) return false;
  }
  return true;
}

SymbolActivity::SymbolActivity(std::vector<Entry> entries) {
  std::erase_if(entries, [](const Entry& entry) {
    return !IsPlainSymbol(entry.symbol) || !(entry.weight > 0 && entry.weight < 1e300);
  });
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.weight > b.weight; });
  double sum = 0;
  for (Entry& entry : entries) {
    sum += entry.weight;
    symbols_.push_back(std::move(entry.symbol));
    up_to_.push_back(sum);
  }
}

const std::string& SymbolActivity::ByActivity(double share) const {
  return symbols_[IndexAt(up_to_, share)];
}

absl::StatusOr<SymbolActivity> ParseSymbols(std::string_view text, std::string_view file_name) {
  std::vector<SymbolActivity::Entry> entries;
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.empty()) continue;
    const size_t comma = std::min(line.find(','), line.size());
    SymbolActivity::Entry entry{std::string(line.substr(0, comma)), 1};
    if (comma < line.size()) {
      const std::string_view weight = line.substr(comma + 1);
      const auto [last, error] =
          std::from_chars(weight.data(), weight.data() + weight.size(), entry.weight);
      const bool whole = error == std::errc() && last == weight.data() + weight.size();
      if (!whole || !(entry.weight > 0 && entry.weight < 1e300)) {
        return InvalidArgument("{}:{}: expected a weight above 0, found \"{}\"", file_name, number,
                               weight.substr(0, 40));
      }
    }
    if (!IsPlainSymbol(entry.symbol)) {
      return InvalidArgument("{}:{}: expected a symbol of letters, digits, . and _, found \"{}\"",
                             file_name, number, entry.symbol.substr(0, 40));
    }
    entries.push_back(std::move(entry));
  }
  if (entries.empty()) return InvalidArgument("{}: expected symbols, found none", file_name);
  return SymbolActivity(std::move(entries));
}

absl::StatusOr<SymbolActivity> LoadSymbols(const std::string& path) {
  TS_ASSIGN_OR_RETURN(const ByteBuffer bytes, ReadWholeFile(path, kSymbolFileBytesMax));
  return ParseSymbols(AsText(bytes.span()), path);
}

SymbolActivity SymbolsOf(const Value& answer) {
  if (!answer.is_keyed_table()) return SymbolActivity();
  const Value* const names = answer.keys().FindColumn("sym");
  const Value* const counts = answer.values().FindColumn("n");
  if (names == nullptr || counts == nullptr || !names->is(Type::kSymbol) ||
      !counts->is(Type::kLong) || counts->count() != names->count()) {
    return SymbolActivity();
  }
  std::vector<SymbolActivity::Entry> entries;
  for (size_t i = 0; i < names->count(); ++i) {
    entries.push_back(
        {std::string(names->symbols()[i]), static_cast<double>(counts->span<int64_t>()[i])});
  }
  return SymbolActivity(std::move(entries));
}

QuestionTexts::QuestionTexts(const QuerySet& set, size_t client, const SymbolActivity& symbols)
    : set_(set),
      client_(set.clients[client]),
      symbols_(symbols),
      // Each client has an odd constant of its own, so that two classes do not ask for the same
      // symbols.
      seed_(set.seed + 0x9e3779b97f4a7c15u * (client + 1)) {
  double sum = 0;
  for (const int weight : client_.weights) up_to_.push_back(sum += weight);
  Restart();
}

void QuestionTexts::Restart() {
  choices_.seed(seed_);
  draws_.seed(~seed_);
  number_ = 0;
  turns_.assign(client_.queries.size(), 0);
}

size_t QuestionTexts::Next() {
  if (up_to_.empty()) return number_++ % client_.queries.size();
  return IndexAt(up_to_, ShareOf(choices_()));
}

std::string QuestionTexts::Text(size_t place, int64_t now_ns) {
  const QuerySpec& query = set_.queries[client_.queries[place]];
  std::string text = query.text;
  if (query.asks_for_symbol()) {
    FillIn(text, "{symbol}",
           query.symbols_in_turn ? symbols_.InTurn(turns_[place]++)
                                 : symbols_.ByActivity(ShareOf(draws_())));
  }
  const auto window_ns = static_cast<int64_t>(query.window_s * 1e9);
  FillIn(text, "{begin}", FormatTimestamp(now_ns - window_ns));
  FillIn(text, "{end}", FormatTimestamp(now_ns));
  return text;
}

}  // namespace tickstack::measure
