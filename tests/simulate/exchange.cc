#include "tests/simulate/exchange.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "base/check.h"
#include "base/owned_fd.h"
#include "feed/market/event_testing.h"
#include "feed/market/itch/mold_packet.h"
#include "tests/simulate/trouble.h"

namespace tickstack::simulate {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kSecond = kNsPerSecond;
constexpr int64_t kHeartbeatNs = kSecond / 2;
constexpr int64_t kAwayNsMax = 5 * kSecond;
constexpr uint64_t kTimeOfDay = 34'200'000'000'000;

// Returns a message that becomes exactly one row: an order, its deletion, or a trade.
std::string BytesOf(int64_t id) {
  const auto number = static_cast<uint64_t>(id);
  const auto begin = [number](std::string_view type) {
    return feed::market::MessageBytes()
        .Text(type, 1)
        .Big(number % 3, 2)
        .Big(0, 2)
        .Big(kTimeOfDay + number, 6);
  };
  if (number % 4 == 3) return begin("D").Big(number, 8).bytes();
  const std::string_view type = number % 4 == 2 ? "P" : "A";
  feed::market::MessageBytes message = begin(type)
                                           .Big(number, 8)
                                           .Text(number % 2 == 0 ? "B" : "S", 1)
                                           .Big(number % 1000 + 1, 4)
                                           .Text(fmt::format("X{}", number % 3), 8)
                                           .Big(number % 50'000 + 1, 4);
  return type == "P" ? message.Big(number, 8).bytes() : message.bytes();
}

std::string_view TextOfBytes(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

// ---- the receiver

class Exchange::Receiver final : public feed::live::LineReceiver {
 public:
  Receiver(Exchange& exchange, Process& process)
      : exchange_(exchange), process_(process), event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    TS_CHECK(event_.is_open());
    SetReadable(false);
  }
  ~Receiver() override {
    Leave();
    exchange_.world_.ForgetDescriptor(event_.get());
  }

  absl::Status Join() override {
    TS_CHECK(exchange_.receiver_ == nullptr);
    exchange_.receiver_ = this;
    exchange_.joins_.push_back({.begin_ns = exchange_.world_.MonotonicNs()});
    return absl::OkStatus();
  }
  void Leave() override {
    if (exchange_.receiver_ != this) return;
    exchange_.receiver_ = nullptr;
    exchange_.joins_.back().end_ns = exchange_.world_.MonotonicNs();
    for (std::deque<Arrived>& buffer : buffers_) buffer.clear();
    SetReadable(false);
  }

  int fd() const override { return event_.get(); }
  bool Receive(const OnDatagram& on_datagram) override {
    bool has_all = true;
    for (size_t line = 0; line < kLines; ++line) has_all &= ReceiveLine(line, on_datagram);
    if (std::ranges::all_of(buffers_, &std::deque<Arrived>::empty)) SetReadable(false);
    return has_all;
  }

  size_t lines() const override { return kLines; }
  std::string LineName(size_t line) const override { return fmt::format("line {}", line); }
  const feed::live::LineTraffic& traffic(size_t line) const override { return traffic_[line]; }

  // Puts a packet into the buffer of a line, unless it is full.
  void Arrive(size_t line, std::shared_ptr<const Packet> packet) {
    if (buffers_[line].size() >= exchange_.buffer_packets_max_) {
      ++traffic_[line].lost;
      return;
    }
    exchange_.OnArrived(*packet);
    buffers_[line].push_back(
        {std::move(packet), exchange_.world_.MonotonicNs(), process_.clock().NowNs()});
    SetReadable(true);
  }

 private:
  struct Arrived {
    std::shared_ptr<const Packet> packet;
    int64_t arrived_ns;  // Monotonic.
    int64_t recv_ns;     // By the machine's clock.
  };

  // As UdpReceiver: it has read everything if fewer packets were there than it takes at once.
  bool ReceiveLine(size_t line, const OnDatagram& on_datagram) {
    for (size_t i = 0; i < exchange_.take_packets_max_; ++i) {
      if (buffers_[line].empty()) return true;
      const Arrived arrived = std::move(buffers_[line].front());
      buffers_[line].pop_front();
      ++traffic_[line].packets;
      traffic_[line].bytes += static_cast<int64_t>(arrived.packet->bytes.size());
      exchange_.OnTaken(*arrived.packet, arrived.arrived_ns);
      on_datagram(line, {.payload = std::as_bytes(std::span(arrived.packet->bytes)), .address = {}},
                  arrived.recv_ns);
    }
    return false;
  }

  void SetReadable(bool readable) {
    uint64_t count = 1;
    const bool was_readable = std::exchange(is_readable_, readable);
    if (readable && !was_readable) {
      TS_CHECK(write(event_.get(), &count, sizeof(count)) == sizeof(count));
    } else if (!readable && was_readable) {
      TS_CHECK(read(event_.get(), &count, sizeof(count)) == sizeof(count));
    }
    exchange_.world_.SetReadable(event_.get(), readable);
  }

  Exchange& exchange_;
  Process& process_;
  OwnedFd event_;
  bool is_readable_ = false;
  std::array<std::deque<Arrived>, kLines> buffers_;
  std::array<feed::live::LineTraffic, kLines> traffic_;
};

std::unique_ptr<feed::live::LineReceiver> Exchange::MakeReceiver(Process& process) {
  return std::make_unique<Receiver>(*this, process);
}

// ---- the exchange

Exchange::Exchange(World& world, int64_t wait_ns)
    : world_(world),
      random_(world.random()),
      buffer_packets_max_(OneOf<size_t>(random_, {20, 100'000})),
      take_packets_max_(OneOf<size_t>(random_, {1, 4, 64})) {
  for (Line& line : lines_) {
    line.lose_one_in = OneOf<uint64_t>(random_, {0, 2, 10, 100});
    line.double_one_in = OneOf<uint64_t>(random_, {0, 3, 20});
    line.delay_ns_max = OneOf<int64_t>(random_, {0, kMs, wait_ns / 3});
  }
}

void Exchange::PlanDay(int64_t roll_ns, bool is_last) {
  const int64_t offset_ns = world_.MonotonicNs() - world_.NowNs();
  const int64_t begin_ns = roll_ns - kBefore + kSecond / 4 + offset_ns;
  const int64_t end_ns = roll_ns + kAfter - kSecond + offset_ns;
  PlanAway(begin_ns, end_ns);
  At(begin_ns, &Exchange::BeginSession);
  if (random_.OneIn(3)) {
    const int64_t again_ns = random_.Between(begin_ns + kSecond, end_ns - kSecond);
    if (random_.OneIn(2)) {
      At(again_ns - random_.Between(0, kSecond / 2), &Exchange::EndSession);
    }
    At(again_ns, &Exchange::BeginSession);
  }
  for (int64_t bursts = random_.Between(3, 40); bursts > 0; --bursts) {
    const bool at_roll = random_.OneIn(4);
    const int64_t at_ns = at_roll ? roll_ns + offset_ns - random_.Between(0, 200 * kMs)
                                  : random_.Between(begin_ns + 1, end_ns);
    const int64_t width_ns = random_.OneIn(3) ? 0 : random_.Between(0, kSecond);
    for (int64_t n = random_.Between(1, 20); n > 0; --n) {
      At(std::min(at_ns + random_.Between(0, width_ns), end_ns), &Exchange::SendDrawn);
    }
  }
  if (!is_last) At(end_ns + 1, &Exchange::EndSession);
  if (!std::exchange(beats_, true)) At(begin_ns, &Exchange::SendHeartbeat);
}

// A line is away for a while, or both are.
void Exchange::PlanAway(int64_t begin_ns, int64_t end_ns) {
  for (uint64_t n = random_.Below(4); n > 0; --n) {
    const int64_t from_ns = random_.Between(begin_ns, end_ns);
    const std::pair<int64_t, int64_t> away = {from_ns, from_ns + random_.Between(kMs, kAwayNsMax)};
    const bool both = random_.OneIn(3);
    const size_t one = random_.Below(kLines);
    for (size_t line = 0; line < kLines; ++line) {
      if (both || line == one) lines_[line].away.push_back(away);
    }
  }
}

void Exchange::BeginSession() {
  sessions_.push_back({.name = fmt::format("DAY{}", sessions_.size() + 1)});
}

void Exchange::EndSession() {
  sessions_.back().has_ended = true;
  SendHeartbeat();
}

// One packet. Messages of a session that has ended are not sent.
void Exchange::SendMessages(int64_t messages) {
  if (sessions_.empty() || sessions_.back().has_ended) return;
  const size_t index = sessions_.size() - 1;
  Session& session = sessions_.back();
  Packet packet = {{}, index, session.messages.size() + 1, session.messages.size() + 1};
  feed::market::MoldPacket mold;
  mold.Begin(session.name, packet.first_seq);
  for (; messages > 0; --messages) {
    const std::string bytes = BytesOf(IdOf(index, packet.end_seq));
    mold.Add(std::as_bytes(std::span(bytes)));
    session.messages.push_back({.sent_ns = world_.MonotonicNs()});
    ++packet.end_seq;
  }
  packet.bytes = TextOfBytes(mold.bytes());
  last_sent_ns_ = world_.MonotonicNs();
  Send(std::move(packet));
}

// The heartbeat of a session that has ended is its end.
void Exchange::SendHeartbeat() {
  if (world_.MonotonicNs() >= next_beat_ns_) {
    next_beat_ns_ = world_.MonotonicNs() + kHeartbeatNs;
    At(next_beat_ns_, &Exchange::SendHeartbeat);
  }
  if (sessions_.empty()) return;
  const Session& session = sessions_.back();
  const uint64_t next_seq = session.messages.size() + 1;
  feed::market::MoldPacket mold;
  mold.Begin(session.name, next_seq);
  if (session.has_ended) mold.SetCount(feed::market::kMoldEndOfSession);
  Send({std::string(TextOfBytes(mold.bytes())), sessions_.size() - 1, next_seq, next_seq});
}

bool Exchange::IsLost(const Line& line) {
  if (!loses_) return false;
  const int64_t now_ns = world_.MonotonicNs();
  const bool is_away = std::ranges::any_of(line.away, [now_ns](const auto& away) {
    return away.first <= now_ns && now_ns < away.second;
  });
  return is_away || (line.lose_one_in > 0 && random_.OneIn(line.lose_one_in));
}

void Exchange::Send(Packet packet) {
  world_.Trace("packet", packet.end_seq);
  const auto shared = std::make_shared<const Packet>(std::move(packet));
  for (size_t number = 0; number < kLines; ++number) {
    const Line& line = lines_[number];
    if (IsLost(line)) continue;
    const bool is_doubled = line.double_one_in > 0 && random_.OneIn(line.double_one_in);
    for (int copies = is_doubled ? 2 : 1; copies > 0; --copies) {
      const bool is_delayed = line.delay_ns_max > 0 && random_.OneIn(4);
      const int64_t delay_ns = is_delayed ? random_.Between(0, line.delay_ns_max) : 0;
      world_.At(world_.MonotonicNs() + delay_ns,
                [this, number, shared] { Arrive(number, shared); });
    }
  }
}

void Exchange::Arrive(size_t line, const std::shared_ptr<const Packet>& packet) {
  if (receiver_ != nullptr) receiver_->Arrive(line, packet);
}

void Exchange::OnArrived(const Packet& packet) {
  Session& session = sessions_[packet.session];
  for (; session.known_end < packet.end_seq; ++session.known_end) {
    session.messages[session.known_end - 1].known_ns = world_.MonotonicNs();
  }
}

void Exchange::OnTaken(const Packet& packet, int64_t arrived_ns) {
  const int64_t now_ns = world_.MonotonicNs();
  const size_t join = joins_.size() - 1;
  joins_[join].first_taken_ns = std::min(joins_[join].first_taken_ns, now_ns);
  Session& session = sessions_[packet.session];
  Known& known =
      session.known.try_emplace(join, packet.first_seq, packet.end_seq, now_ns).first->second;
  known.first_seq = std::min(known.first_seq, packet.first_seq);
  if (packet.end_seq > known.end_seq) known.end_seq = packet.end_seq, known.time_ns = now_ns;
  for (uint64_t seq = packet.first_seq; seq < packet.end_seq; ++seq) {
    Message& message = session.messages[seq - 1];
    if (message.taken_ns != kNever) continue;
    message.arrived_ns = arrived_ns;
    message.taken_ns = now_ns;
    message.taken_by = join;
  }
}

}  // namespace tickstack::simulate
