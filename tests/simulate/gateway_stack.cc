#include "tests/simulate/gateway_stack.h"

#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "gateway/gateway_main.h"

namespace tickstack::simulate {
namespace {

constexpr int64_t kMs = 1'000'000;

std::string AddressOf(int port) { return fmt::format("127.0.0.1:{}", port); }

serve::QuerySettings SettingsOf(const GatewayOptions& options) {
  serve::QuerySettings settings;
  settings.query_threads = options.query_threads;
  settings.query_helpers = 0;
  settings.query_nice = 0;
  return settings;
}

wire::ListenerOptions ListenAt(int port) {
  wire::ListenerOptions listener;
  listener.port = port;
  return listener;
}

}  // namespace

GatewayOptions DrawGatewayOptions(Random& random, std::string folder) {
  GatewayOptions options;
  options.stack = DrawOptions(random, std::move(folder));
  options.stack.batch_ns = OneOf<int64_t>(random, {0, 10 * kMs, 50 * kMs});
  options.stack.keep_logs_days = -1;
  options.query_timeout_s = OneOf<double>(random, {1, 3});
  options.hedge_ms = OneOf<double>(random, {0, 50, 250});
  options.query_threads = static_cast<int>(random.Between(1, 3));
  options.retry_ns = OneOf<int64_t>(random, {kNsPerSecond / 2, 5 * kNsPerSecond});
  options.hdb_timeout_ns = OneOf<int64_t>(random, {kNsPerSecond / 2, 10 * kNsPerSecond});
  return options;
}

absl::StatusOr<std::unique_ptr<Program>> StartServingRdb(Process& process,
                                                         const GatewayOptions& options,
                                                         size_t number) {
  auto program = std::make_unique<ServingRdbProgram>();
  program->tier = mem::MakeDramTier("dram");
  program->rdb = std::make_unique<rdb::Rdb>(rdb::RdbOptions{}, rdb::Placement(program->tier.get()),
                                            &process.clock());
  program->rdb->Reopen();
  if (number == 0) {
    rdb::EndOfDayOptions days;
    days.database = options.stack.Database();
    days.hdb = AddressOf(kHdbPort);
    days.threads = options.stack.write_threads;
    days.retry_ns = options.retry_ns;
    days.hdb_timeout_ns = options.hdb_timeout_ns;
    program->end_of_day = std::make_unique<rdb::EndOfDay>(days, program->rdb.get());
    program->rdb->KeepDays(program->end_of_day.get());
  }
  program->environment =
      std::make_unique<rdb::RdbEnvironment>(program->rdb.get(), &process.clock());
  const serve::QuerySettings settings = SettingsOf(options);
  program->environment->facts().SetLimits(settings);
  program->intake = std::make_unique<rdb::Intake>(
      process.loop(), SubscribeAs(process, options.stack), program->rdb.get());
  serve::QueryServiceOptions service =
      serve::ServiceOptionsOf(settings, ListenAt(kRdbPorts[number]));
  service.contents = &program->rdb->counters().starts_over;
  TS_ASSIGN_OR_RETURN(program->service,
                      serve::QueryService::Start(service, program->environment.get(),
                                                 &program->environment->queries()));
  program->intake->Start();
  return program;
}

std::vector<int32_t> HdbProgram::Days() const {
  const std::shared_ptr<const hdb::LoadedDatabase> loaded = hdb->current();
  if (loaded == nullptr) return {};
  const Value values = loaded->PartitionValues();
  if (!values.is(Type::kDate)) return {};
  const std::span<const int32_t> days = values.span<int32_t>();
  return {days.begin(), days.end()};
}

absl::StatusOr<std::unique_ptr<Program>> StartHdb(Process& process, const GatewayOptions& options) {
  auto program = std::make_unique<HdbProgram>();
  program->hdb = std::make_unique<hdb::Hdb>(options.stack.Database());
  if (const absl::Status loaded = program->hdb->Reload(); !loaded.ok()) {
    LogInfo("no database yet error=\"{}\"", Message(loaded));
  }
  program->environment =
      std::make_unique<hdb::HdbEnvironment>(program->hdb.get(), &process.clock());
  const serve::QuerySettings settings = SettingsOf(options);
  program->environment->facts().SetLimits(settings);
  TS_ASSIGN_OR_RETURN(
      program->service,
      serve::QueryService::Start(serve::ServiceOptionsOf(settings, ListenAt(kHdbPort)),
                                 program->environment.get(), &program->environment->queries()));
  return program;
}

absl::StatusOr<std::unique_ptr<Program>> StartGateway(Process& process,
                                                      const GatewayOptions& options) {
  gateway::GatewayMainOptions settings;
  static_cast<serve::QuerySettings&>(settings) = SettingsOf(options);
  settings.query_timeout_s = options.query_timeout_s;
  settings.hedge_ms = options.hedge_ms;
  for (const int port : kRdbPorts) settings.rdbs.push_back(AddressOf(port));
  settings.hdbs = {AddressOf(kHdbPort)};
  TS_ASSIGN_OR_RETURN(gateway::ProcessesBehind behind, gateway::ProcessesOf(settings));
  auto program = std::make_unique<GatewayProgram>();
  program->environment = std::make_unique<gateway::GatewayEnvironment>(
      std::move(behind.shards), std::move(behind.map), &process.clock());
  program->environment->facts().SetLimits(settings);
  TS_ASSIGN_OR_RETURN(
      program->service,
      serve::QueryService::Start(serve::ServiceOptionsOf(settings, ListenAt(kGatewayPort)),
                                 program->environment.get(), &program->environment->queries()));
  return program;
}

}  // namespace tickstack::simulate
