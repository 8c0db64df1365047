#include "tplog/message_census.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/byte_buffer.h"

namespace tickstack::tplog {

// The table, and the column names of rows that have some: their order is their sender's.
std::string MessageCensus::KeyOf(const wire::UpdView& upd) {
  std::string key(upd.table);
  for (const std::string_view name : upd.names) {
    key += '\0';
    key += name;
  }
  return key;
}

namespace {

// The head of the list, which says that its first item is a symbol or a text, the verb, and what
// ends it.
std::string BeginningOf(const wire::UpdView& upd, std::span<const std::byte> body) {
  const std::string_view text = AsText(body);
  const auto verb_end = static_cast<size_t>(upd.verb.data() + upd.verb.size() - text.data());
  return std::string(text.substr(0, std::min(text.size(), verb_end + 1)));
}

bool TypesAgree(Type a, Type b) { return a == b || a == Type::kList || b == Type::kList; }

}  // namespace

bool MessageCensus::Agree(const Layout& layout, const wire::UpdView& upd) {
  return std::ranges::equal(
      layout.types, upd.batch.columns,
      [](Type type, const ColumnView& column) { return TypesAgree(type, column.type); });
}

// Returns the column that should have symbols, if it has chars or a list: `sym`, or if columns have
// no names, the second one unless the first has symbols.
std::optional<size_t> MessageCensus::ColumnWithoutSymbols(const wire::UpdView& upd) {
  const std::span<const ColumnView> columns = upd.batch.columns;
  const auto is_text = [](Type type) { return type == Type::kChar || type == Type::kList; };
  if (!upd.names.empty()) {
    const auto named = std::ranges::find(upd.names, std::string_view("sym"));
    const auto at = static_cast<size_t>(named - upd.names.begin());
    return named != upd.names.end() && is_text(columns[at].type) ? std::optional(at) : std::nullopt;
  }
  for (size_t at = 0; at < std::min<size_t>(columns.size(), 2); ++at) {
    if (columns[at].type == Type::kSymbol) return std::nullopt;
  }
  for (size_t at = 0; at < std::min<size_t>(columns.size(), 2); ++at) {
    if (is_text(columns[at].type)) return at;
  }
  return std::nullopt;
}

// True if the message has the beginning of an upd in its middle: it was several messages. A value
// with these bytes would be a message that a program keeps as a value.
bool MessageCensus::HoldsAnother(std::span<const std::byte> body) const {
  return !upd_begin_.empty() && AsText(body).find(upd_begin_, 1) != std::string_view::npos;
}

void MessageCensus::Add(const wire::UpdView* upd, std::span<const std::byte> body, Place place) {
  if (upd == nullptr) {
    if (no_upd_.messages++ == 0) no_upd_.first = place;
    return;
  }
  if (upd_begin_.empty()) upd_begin_ = BeginningOf(*upd, body);
  if (HoldsAnother(body)) {
    if (joined_.messages++ == 0) joined_.first = place;
    return;
  }
  if (upd->batch.rows == 0) return;  // The types of no values say nothing.
  auto found = upd->names.empty() ? tables_.find(upd->table) : tables_.find(KeyOf(*upd));
  if (found == tables_.end()) {
    if (tables_.size() >= kTablesMax) return;
    found = tables_.try_emplace(KeyOf(*upd)).first;
  }
  Layouts& layouts = found->second;
  auto layout =
      std::ranges::find_if(layouts, [&](const Layout& each) { return Agree(each, *upd); });
  if (layout == layouts.end()) {
    if (layouts.size() >= kLayoutsMax) return;
    Layout& made = layouts.emplace_back();
    for (const ColumnView& column : upd->batch.columns) made.types.push_back(column.type);
    made.first = place;
    layout = std::prev(layouts.end());
  }
  ++layout->messages;
  if (ColumnWithoutSymbols(*upd)) ++layout->without_symbols;
}

const MessageCensus::Layout& MessageCensus::MostFrequent(const Layouts& layouts) {
  return *std::ranges::max_element(layouts, {}, &Layout::messages);
}

std::string MessageCensus::Difference(const Layout& odd, const Layout& usual) {
  if (odd.types.size() != usual.types.size()) {
    return fmt::format("{} columns, and {} in other messages", odd.types.size(),
                       usual.types.size());
  }
  for (size_t i = 0; i < odd.types.size(); ++i) {
    if (TypesAgree(odd.types[i], usual.types[i])) continue;
    return fmt::format("{}s in column {}, and {}s in other messages", NameOf(odd.types[i]), i,
                       NameOf(usual.types[i]));
  }
  return "";
}

std::vector<MessageCensus::Odd> MessageCensus::FindOdd(bool of_ticks) const {
  std::vector<Odd> all;
  if (no_upd_.messages > 0) {
    all.push_back(no_upd_);
    all.back().text = "no upd, and a replay skips it";
    all.back().hides_rows = true;
  }
  if (joined_.messages > 0) {
    all.push_back(joined_);
    all.back().text = "the beginning of another message in their middle";
    all.back().hides_rows = true;
  }
  for (const auto& [key, layouts] : tables_) {
    const Layout& usual = MostFrequent(layouts);
    const std::string table = key.substr(0, key.find('\0'));
    for (const Layout& layout : layouts) {
      // Those that began with a list.
      if (std::ranges::equal(layout.types, usual.types, TypesAgree)) {
        if (!of_ticks || layout.without_symbols < layout.messages) continue;
        all.push_back({layout.messages, layout.first,
                       fmt::format("rows of {} without symbols in the column sym, where they have "
                                   "chars or a list, which no rdb can take",
                                   table),
                       false});
        continue;
      }
      all.push_back({layout.messages, layout.first,
                     fmt::format("rows of {} with {}", table, Difference(layout, usual)), false});
    }
  }
  std::ranges::sort(all, {}, [](const Odd& odd) { return odd.first.offset; });
  return all;
}

bool MessageCensus::IsOdd(const wire::UpdView* upd, std::span<const std::byte> body) const {
  if (upd == nullptr || HoldsAnother(body)) return true;
  if (upd->batch.rows == 0) return false;
  const auto found = tables_.find(KeyOf(*upd));
  if (found == tables_.end()) return false;
  const Layout& usual = MostFrequent(found->second);
  // As Add counted it: with the first layout with which it agrees.
  const auto layout =
      std::ranges::find_if(found->second, [&](const Layout& each) { return Agree(each, *upd); });
  return layout != found->second.end() && &*layout != &usual;
}

}  // namespace tickstack::tplog
