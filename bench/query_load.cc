#include "bench/query_load.h"

#include <poll.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/time.h"
#include "wire/codec.h"
#include "wire/ipc.h"

namespace tickstack::bench {
namespace {

constexpr size_t kRequests = 3;  // Requests in a round.

// Reads the answers of one connection. Those of a round are a few bytes, so each arrives whole or
// not at all.
class Answers {
 public:
  // Calls on_answer(is_error) for each whole answer.
  template <typename F>
  void Take(std::span<const std::byte> bytes, F on_answer) {
    rest_.Append(bytes);
    size_t at = 0;
    while (rest_.size() - at >= wire::kHeaderBytes) {
      const auto total = LoadLittle<uint32_t>(rest_.data() + at + 4);
      if (rest_.size() - at < total) break;
      on_answer(rest_.data()[at + wire::kHeaderBytes] == std::byte{0x80});
      at += total;
    }
    const size_t left = rest_.size() - at;
    if (at > 0) std::memmove(rest_.data(), rest_.data() + at, left);
    rest_.resize(left);
  }

 private:
  ByteBuffer rest_;
};

}  // namespace

MonitorLoad::MonitorLoad(uint16_t port, int rounds_per_second, size_t connections,
                         const std::string& symbol)
    : period_ns_(kNsPerSecond / rounds_per_second) {
  for (size_t i = 0; i < connections; ++i) peers_.push_back(std::make_unique<Peer>(port));
  for (const std::string& text :
       {std::string("exec last time from trade"), std::string("exec last time from quote"),
        "count aj[`sym`time;select sym,time,price,size from trade where sym=`" + symbol +
            ";select sym,time,bid,ask from quote where sym=`" + symbol + "]"}) {
    peers_.front()->Ask(Value::String(text));  // Checks that the answer is no error.
    round_.Append(wire::EncodeMessage(wire::MessageKind::kSync, Value::String(text)));
  }
  start_ns_ = MonotonicNs();
  sender_ = std::thread([this] { Send(); });
  receiver_ = std::thread([this] { Receive(); });
}

MonitorLoad::~MonitorLoad() { Stop(); }

void MonitorLoad::Send() {
  while (!stop_.load(std::memory_order_relaxed)) {
    const int64_t due_ns = start_ns_ + static_cast<int64_t>(rounds_due_) * period_ns_;
    const int64_t now_ns = MonotonicNs();
    if (due_ns > now_ns) {
      const timespec pause{0, due_ns - now_ns};
      ::clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
      continue;
    }
    peers_[rounds_due_ % peers_.size()]->Send(round_);
    ++rounds_due_;
  }
}

void MonitorLoad::Receive() {
  std::vector<pollfd> sockets;
  for (const std::unique_ptr<Peer>& peer : peers_) sockets.push_back({peer->socket(), POLLIN, 0});
  std::vector<Answers> answers(peers_.size());
  std::vector<uint64_t> answered(peers_.size());
  std::vector<std::byte> block(size_t{64} << 10);
  while (!stop_.load(std::memory_order_relaxed)) {
    ::poll(sockets.data(), sockets.size(), 20);
    for (size_t i = 0; i < sockets.size(); ++i) {
      if (sockets[i].revents == 0) continue;
      const size_t got = peers_[i]->Receive(block);
      const int64_t now_ns = MonotonicNs();
      answers[i].Take({block.data(), got}, [&](bool is_error) {
        if (is_error) {
          std::fprintf(stderr, "a monitor's query failed\n");
          std::exit(1);
        }
        if (++answered[i] % kRequests != 0) return;
        const uint64_t round = (answered[i] / kRequests - 1) * sockets.size() + i;
        latency_.Record(now_ns - start_ns_ - static_cast<int64_t>(round) * period_ns_);
      });
    }
  }
}

const Histogram& MonitorLoad::Stop() {
  stop_.store(true, std::memory_order_relaxed);
  if (sender_.joinable()) sender_.join();
  if (receiver_.joinable()) receiver_.join();
  return latency_;
}

ScanLoad::ScanLoad(uint16_t port) {
  thread_ = std::thread([this, port] {
    Peer peer(port);
    while (!stop_.load(std::memory_order_relaxed)) {
      const int64_t begin_ns = MonotonicNs();
      peer.Ask(Value::String("exec max bid from quote"));
      latency_.Record(MonotonicNs() - begin_ns);
    }
  });
}

const Histogram& ScanLoad::Stop() {
  stop_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) thread_.join();
  return latency_;
}

}  // namespace tickstack::bench
