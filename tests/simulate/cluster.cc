#include "tests/simulate/cluster.h"

#include <chrono>
#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "tickerplant/day_clock.h"
#include "tickerplant/tickerplant.h"

namespace tickstack::simulate {

using namespace std::chrono_literals;

namespace {

constexpr int64_t kMs = 1'000'000;
constexpr uint16_t kFirstPort = 5010;

tickerplant::DayClock DayOf(const StackOptions& options) {
  return *tickerplant::DayClock::Create(options.zone, options.roll_offset_ns, std::nullopt);
}

}  // namespace

ClusterOptions DrawClusterOptions(Random& random, std::string folder) {
  ClusterOptions options;
  options.stack = DrawOptions(random, std::move(folder));
  options.stack.socket_bytes =
      OneOf<size_t>(random, {size_t{256} << 10, size_t{256} << 10, size_t{16} << 10});
  options.has_own_paths = random.OneIn(2);
  options.replication.first_leader = "a";
  options.replication.acknowledge = OneOf<size_t>(random, {0, 1, 1, 2});
  options.replication.lease_ns = OneOf<int64_t>(random, {300 * kMs, 600 * kMs, 1500 * kMs});
  options.replication.standby_timeout_ns = OneOf<int64_t>(random, {150 * kMs, 500 * kMs});
  return options;
}

StackOptions ClusterOptions::StackOf(size_t number) const {
  StackOptions own = stack;
  if (has_own_paths) own.log_folder += fmt::format("_{}", number);
  return own;
}

wire::Address AddressOfMember(size_t number) {
  return {"127.0.0.1", static_cast<uint16_t>(kFirstPort + number), ""};
}

wire::Address AddressOfCluster(size_t members) {
  wire::Address address = AddressOfMember(0);
  for (size_t number = 1; number < members; ++number) {
    address.others.push_back(AddressOfMember(number));
  }
  return address;
}

MemberProgram::MemberProgram(Process& process, const ClusterOptions& options, size_t number,
                             Store& store)
    : process_(process),
      options_(options),
      stack_(options.StackOf(number)),
      number_(number),
      store_(store, process, options.replication.lease_ns / 4),
      note_timer_(process.loop()) {}

absl::Status MemberProgram::Start() {
  tickerplant::ReplicationOptions replication = options_.replication;
  replication.advertise = AddressOfMember(number_).ToString();
  tickerplant::TickerplantOptions plant = PlantOptions(stack_, *process_.machine());
  plant.is_member = true;
  // As the main program does before a member starts.
  TS_RETURN_IF_ERROR(
      tickerplant::Tickerplant::LogToOpen(plant, DayOf(stack_), &process_.clock()).status());
  TS_ASSIGN_OR_RETURN(member_, tickerplant::ClusterMember::Start(
                                   process_.loop(), process_.name(), std::move(replication),
                                   {plant.log_directory, plant.log_name, plant.log, {}}, &store_,
                                   [this] {
                                     // In the loop's next turn, as in the main program.
                                     process_.loop().Post([this] {
                                       if (const absl::Status led = Lead(); !led.ok()) End(led);
                                     });
                                   },
                                   [this](const absl::Status& why) { End(why); }));
  TS_ASSIGN_OR_RETURN(server_, Listen(member_.get()));
  return absl::OkStatus();
}

void MemberProgram::End(const absl::Status& why) {
  LogWarn("member ends reason=\"{}\"", Message(why));
  if (leader_ != nullptr) member_->NoteLogged(leader_->logged());
  process_.Exit();
}

absl::StatusOr<std::unique_ptr<wire::Server>> MemberProgram::Listen(wire::ServerHandler* handler) {
  wire::ServerOptions server;
  server.http = false;  // It has a thread and sockets of its own.
  server.connection.max_queue_bytes = stack_.queue_bytes_max;
  server.authenticator = stack_.users;
  return wire::Server::Listen(process_.loop(), AddressOfMember(number_), server, handler);
}

absl::Status MemberProgram::Lead() {
  server_ = nullptr;
  tickerplant::TickerplantOptions plant = PlantOptions(stack_, *process_.machine());
  plant.is_member = true;
  TS_ASSIGN_OR_RETURN(std::unique_ptr<tickerplant::Tickerplant> tickerplant,
                      tickerplant::Tickerplant::Open(std::move(plant), DayOf(stack_),
                                                     &process_.clock(), member_->TakeLog()));
  const tickerplant::BatchClock batches(stack_.batch_ns, std::nullopt, process_.clock().NowNs());
  leader_ = std::make_unique<tickerplant::TickerplantService>(
      process_.loop(), std::move(tickerplant), batches,
      [this](const absl::Status& why) { End(why); });
  member_->Lead(*leader_);
  note_timer_.Every(100ms, [this] { member_->NoteLogged(leader_->logged()); });
  TS_ASSIGN_OR_RETURN(server_, Listen(leader_.get()));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Program>> StartMember(Process& process,
                                                     const ClusterOptions& options, size_t number,
                                                     Store& store) {
  auto program = std::make_unique<MemberProgram>(process, options, number, store);
  TS_RETURN_IF_ERROR(program->Start());
  return program;
}

}  // namespace tickstack::simulate
