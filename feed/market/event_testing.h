#pragma once

// For tests of decoders: their events as text, and bytes of messages.

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "feed/market/events.h"

namespace tickstack::feed::market {

// Collects `order A B 10.5 100 id=7 ...`: null fields are left out.
class EventTexts final : public EventSink {
 public:
  std::vector<std::string> texts;

  void On(const Trade& e) override {
    Begin("trade", e);
    Add("price", e.price), Add("size", e.size), Add("side", e.side), Add("cond", e.cond);
    Add("id", e.id), Add("amount", e.amount), Add("id", e.id_text);
  }
  void On(const TradeBreak& e) override {
    Begin("trade_break", e);
    Add("price", e.price), Add("size", e.size), Add("cond", e.cond), Add("id", e.id);
    Add("amount", e.amount);
  }
  void On(const Quote& e) override {
    Begin("quote", e);
    Add("bid", e.bid), Add("ask", e.ask), Add("bsize", e.bsize), Add("asize", e.asize);
    Add("cond", e.cond), Add("bid_venue", e.bid_venue), Add("ask_venue", e.ask_venue);
    Add("bamount", e.bamount), Add("aamount", e.aamount);
  }
  void On(const Order& e) override {
    Begin("order", e);
    Add("action", e.action), Add("side", e.side), Add("price", e.price), Add("size", e.size);
    Add("id", e.id), Add("old", e.old_id), Add("trade", e.trade_id), Add("cond", e.cond);
    Add("mpid", e.mpid);
  }
  void On(const Level& e) override {
    Begin("level", e);
    Add("side", e.side), Add("price", e.price), Add("size", e.size), Add("orders", e.orders);
    if (!e.complete) texts.back() += " incomplete";
    Add("cond", e.cond), Add("amount", e.amount);
  }
  void On(const Status& e) override {
    Begin("status", e);
    Add("kind", e.kind), Add("state", e.state), Add("reason", e.reason), Add("mpid", e.mpid);
    Add("price", e.price), Add("at", e.at_ns);
  }
  void On(const Auction& e) override {
    Begin("auction", e);
    Add("kind", e.kind), Add("state", e.state), Add("side", e.side), Add("paired", e.paired);
    Add("imbalance", e.imbalance), Add("ref", e.ref_price), Add("indicative", e.indicative);
    Add("book", e.book_price), Add("collar", e.collar), Add("low", e.low), Add("high", e.high);
    Add("min", e.min_price), Add("max", e.max_price), Add("at", e.at_ns);
    Add("extensions", e.extensions), Add("cond", e.cond);
  }
  void On(const Instrument& e) override {
    Begin("instrument", e);
    Add("id", e.id), Add("kind", e.kind), Add("market", e.market), Add("lot", e.lot);
    Add("prior_close", e.prior_close), Add("luld", e.luld_tier), Add("leverage", e.leverage);
    Add("currency", e.currency), Add("underlying", e.underlying), Add("tick", e.tick);
    Add("multiplier", e.multiplier), Add("strike", e.strike), Add("expiry", e.expiry_ns);
    if (e.test) texts.back() += " test";
    Add("flags", e.flags);
  }
  void On(const Bar& e) override {
    Begin("bar", e);
    Add("interval", e.interval), Add("open", e.open), Add("high", e.high), Add("low", e.low);
    Add("close", e.close), Add("volume", e.volume);
  }
  void On(const Statistic& e) override {
    Begin("statistic", e);
    Add("kind", e.kind), Add("price", e.price), Add("size", e.size), Add("at", e.at_ns);
    Add("action", e.action), Add("cond", e.cond);
  }
  void On(const Gap& e) override {
    Begin("gap", e);
    Add("session", e.session), Add("first", e.first_seq), Add("last", e.last_seq);
    Add("from", e.first_time_ns), Add("to", e.last_time_ns), Add("tried", e.tried);
    Add("closed", e.closed), Add("closed_at", e.closed_ns);
  }

 private:
  void Begin(std::string_view table, const EventHead& head) {
    texts.emplace_back(table);
    Add("time", head.time_ns), Add("sym", head.sym), Add("seq", head.seq);
    Add("recv", head.recv_ns), Add("channel", head.channel), Add("venue", head.venue);
  }
  void Add(std::string_view name, double value) {
    if (std::bit_cast<uint64_t>(value) == kNullFloatBits) return;
    texts.back() += fmt::format(" {}={}", name, value);
  }
  void Add(std::string_view name, int64_t value) {
    if (value != kNullLong) texts.back() += fmt::format(" {}={}", name, value);
  }
  void Add(std::string_view name, char value) {
    if (value != ' ') texts.back() += fmt::format(" {}={}", name, value);
  }
  void Add(std::string_view name, std::string_view value) {
    if (!value.empty()) texts.back() += fmt::format(" {}={}", name, value);
  }
};

// Builds the bytes of a message, field by field.
class MessageBytes {
 public:
  MessageBytes& Text(std::string_view text, size_t bytes) {
    bytes_ += text;
    bytes_.append(bytes - text.size(), ' ');
    return *this;
  }
  MessageBytes& Big(uint64_t value, size_t bytes) {
    for (size_t i = bytes; i > 0; --i) bytes_ += ByteOf(value, i - 1);
    return *this;
  }
  MessageBytes& Little(uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) bytes_ += ByteOf(value, i);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  // The number may have more bytes than 8: they are 0.
  static char ByteOf(uint64_t value, size_t byte) {
    return byte < sizeof value ? static_cast<char>(value >> byte * 8) : '\0';
  }

  std::string bytes_;
};

}  // namespace tickstack::feed::market
