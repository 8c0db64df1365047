#pragma once

// An exchange that sends ITCH messages in MoldUDP64 packets on two lines of one channel, and the
// receiver through which a live feed gets them:
//
//   Exchange ---- line A: loses, doubles, delays packets ----> buffer A ---.
//           '---- line B: independently of line A -----------> buffer B ---+-> LineReceiver -> feed
//
// A packet that arrives while no feed has joined the lines is lost. The exchange records when each
// message arrived and when the feed took it; exchange_check.h compares that with the logged rows.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "feed/live/line_receiver.h"
#include "tests/simulate/world.h"

namespace tickstack::simulate {

class Exchange {
 public:
  static constexpr size_t kLines = 2;
  static constexpr int64_t kNever = INT64_MAX;

  // What became of a message. Times are monotonic.
  struct Message {
    int64_t sent_ns = 0;
    int64_t known_ns = kNever;    // When the first packet arrived that shows that it exists.
    int64_t arrived_ns = kNever;  // When the packet arrived in which the feed took it first.
    int64_t taken_ns = kNever;    // When the feed took it first.
    size_t taken_by = 0;          // The index in joins() of the receiver that took it first.
  };
  // What the packets that a receiver took say of a session.
  struct Known {
    uint64_t first_seq = 0;  // The smallest number of a packet.
    uint64_t end_seq = 0;    // The next number after the last message.
    int64_t time_ns = 0;     // When it took the first packet with that end.
  };
  // Messages with sequence numbers from 1 on.
  struct Session {
    std::string name;
    std::vector<Message> messages = {};
    bool has_ended = false;
    uint64_t known_end = 1;              // The next number after those whose `known_ns` is set.
    std::map<size_t, Known> known = {};  // By receiver, as in joins().
  };
  // The time in which a receiver was joined.
  struct Join {
    int64_t begin_ns = 0, end_ns = kNever;
    int64_t first_taken_ns = kNever;
  };

  // Draws how often each line loses, doubles and delays packets. `wait_ns`: the longest time for
  // which the feed waits for a missing message; packets are delayed by less.
  Exchange(World& world, int64_t wait_ns);

  // Schedules the messages of a day that ends at `roll_ns`, by the wall clock. `is_last`: the last
  // session stays open.
  void PlanDay(int64_t roll_ns, bool is_last);
  // From now on, no packet is lost.
  void CallOffLosses() { loses_ = false; }
  // Sends some messages, now.
  void SendMessages(int64_t messages);

  const std::vector<Session>& sessions() const { return sessions_; }
  const std::vector<Join>& joins() const { return joins_; }
  int64_t last_sent_ns() const { return last_sent_ns_; }  // When the last message was sent.

  // Identifies a message of all sessions. Its row has it as `id`.
  static int64_t IdOf(size_t session, uint64_t seq) {
    return static_cast<int64_t>((session + 1) * 1'000'000 + seq);
  }

  // Returns a receiver of the lines for this process, which stamps packets with its clock.
  std::unique_ptr<feed::live::LineReceiver> MakeReceiver(Process& process);

 private:
  class Receiver;
  struct Packet {
    std::string bytes;
    size_t session;
    uint64_t first_seq;
    uint64_t end_seq;  // One more than its last number; the same as `first_seq` in a heartbeat.
  };
  struct Line {
    uint64_t lose_one_in = 0;  // 0: none.
    uint64_t double_one_in = 0;
    int64_t delay_ns_max = 0;
    std::vector<std::pair<int64_t, int64_t>> away = {};  // Monotonic times; it loses all packets.
  };

  void PlanAway(int64_t begin_ns, int64_t end_ns);
  void At(int64_t monotonic_ns, void (Exchange::*function)()) {
    world_.At(monotonic_ns, [this, function] { (this->*function)(); });
  }
  void BeginSession();
  void EndSession();
  void SendDrawn() { SendMessages(random_.Between(1, 5)); }
  void SendHeartbeat();
  void Send(Packet packet);
  bool IsLost(const Line& line);
  void Arrive(size_t line, const std::shared_ptr<const Packet>& packet);
  void OnArrived(const Packet& packet);
  void OnTaken(const Packet& packet, int64_t arrived_ns);

  World& world_;
  Random& random_;
  std::array<Line, kLines> lines_;
  size_t buffer_packets_max_;  // Packets that wait for the feed on a line; the kernel drops more.
  size_t take_packets_max_;    // Packets that one call of Receive takes from each line.
  bool loses_ = true;
  bool beats_ = false;        // Heartbeats are scheduled.
  int64_t next_beat_ns_ = 0;  // When the next one is due.
  std::vector<Session> sessions_;
  std::vector<Join> joins_;
  int64_t last_sent_ns_ = 0;
  Receiver* receiver_ = nullptr;  // The one that has joined; nullptr: none has.
};

}  // namespace tickstack::simulate
