#include "tests/simulate/chained.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "tickerplant/day_clock.h"
#include "tickerplant/tickerplant.h"
#include "tplog/log_piece.h"

namespace tickstack::simulate {

using namespace std::chrono_literals;

namespace {

constexpr int64_t kMs = 1'000'000;
constexpr uint16_t kPort = 5020;

tickerplant::TickerplantOptions PlantOptionsOf(const ChainedOptions& options, const Host& machine) {
  tickerplant::TickerplantOptions plant = PlantOptions(options.stack, machine);
  plant.schemas = options.schemas;
  plant.at_once.clear();
  plant.follows_upstream = true;
  return plant;
}

}  // namespace

ChainedOptions DrawChainedOptions(Random& random, const StackOptions& cluster) {
  ChainedOptions options{.stack = cluster, .schemas = AllSchemas(), .upstream = {}};
  options.stack.users = nullptr;
  DrawTickerplantOptions(random, options.stack);
  options.stack.tickerplant = {"127.0.0.1", kPort, ""};
  options.upstream.address = cluster.tickerplant;
  options.upstream.poll_ns = OneOf<int64_t>(random, {10 * kMs, 50 * kMs, 100 * kMs});
  options.upstream.piece_bytes = OneOf<int64_t>(random, {500, 8000, int64_t{1} << 20});
  options.upstream.all_tables = !random.OneIn(3);
  if (!options.upstream.all_tables) options.schemas = {OneOf(random, SourceSchemas())};
  if (random.OneIn(3)) {
    options.upstream.symbols =
        OneOf<std::vector<std::string>>(random, {{"A"}, {"IBM", "LAST"}, {"MSFT", "A", "none"}});
  }
  return options;
}

TableTexts ChainedOptions::Filter(const TableTexts& tables,
                                  const std::vector<Schema>& copied) const {
  TableTexts kept;
  for (const Schema& schema : copied) {
    const auto rows = tables.find(schema.table);
    if (rows == tables.end()) continue;
    const auto sym = static_cast<size_t>(schema.Find("sym"));
    for (const std::string& row : rows->second) {
      const bool is_chosen =
          upstream.symbols.empty() ||
          std::ranges::find(upstream.symbols, Cell(row, sym)) != upstream.symbols.end();
      if (is_chosen) kept[schema.table].push_back(row);
    }
  }
  return kept;
}

ChainedProgram::ChainedProgram(Process& process, const ChainedOptions& options)
    : process_(process),
      options_(options),
      plant_(PlantOptionsOf(options, *process.machine())),
      ask_again_(process.loop()) {}

ChainedProgram::~ChainedProgram() { client_ = nullptr; }

absl::Status ChainedProgram::Start() {
  TS_ASSIGN_OR_RETURN(const tickerplant::DayClock day,
                      tickerplant::DayClock::Create("UTC", 0, std::nullopt));
  TS_ASSIGN_OR_RETURN(newest_,
                      tickerplant::Tickerplant::FindNewestDay(plant_, day, &process_.clock()));
  if (newest_ && !newest_->ended) return Copy(newest_->date);
  wire::ClientOptions client;
  client.user = process_.name();
  client_ =
      std::make_unique<wire::Client>(process_.loop(), options_.upstream.address, client, this);
  return absl::OkStatus();
}

void ChainedProgram::OnConnected(wire::Connection&) {
  // Calls wait until the connection is started.
  process_.loop().Post([this] { AskDay(); });
}

void ChainedProgram::AskDay() {
  wire::Connection* const connection = client_ == nullptr ? nullptr : client_->connection();
  if (connection == nullptr) return;
  connection->Call(tplog::LogDaysRequest(), [this](const absl::StatusOr<Value>& answer) {
    if (!answer.ok()) {
      if (!absl::IsUnavailable(answer.status())) End(answer.status());
      return;
    }
    const absl::StatusOr<std::optional<int32_t>> next = tickerplant::DayToFollow(newest_, *answer);
    if (!next.ok()) return End(next.status());
    if (!*next) return ask_again_.Once(200ms, [this] { AskDay(); });
    // The connection must not be destroyed by its own call.
    ask_again_.Once(0ms, [this, date = **next] {
      client_ = nullptr;
      if (const absl::Status copies = Copy(date); !copies.ok()) End(copies);
    });
  });
}

absl::Status ChainedProgram::Copy(std::optional<int32_t> date) {
  TS_ASSIGN_OR_RETURN(
      const tickerplant::DayClock day,
      tickerplant::DayClock::Create(options_.stack.zone, options_.stack.roll_offset_ns, date));
  TS_ASSIGN_OR_RETURN(std::unique_ptr<tickerplant::Tickerplant> tickerplant,
                      tickerplant::Tickerplant::Open(plant_, day, &process_.clock()));
  const tickerplant::BatchClock batches(options_.stack.batch_ns, std::nullopt,
                                        process_.clock().NowNs());
  service_ = std::make_unique<tickerplant::TickerplantService>(
      process_.loop(), std::move(tickerplant), batches,
      [this](const absl::Status& why) { End(why); });
  TS_RETURN_IF_ERROR(service_->Follow(options_.upstream));
  wire::ServerOptions server;
  server.http = false;  // It has a thread and sockets of its own.
  server.connection.max_queue_bytes = options_.stack.queue_bytes_max;
  TS_ASSIGN_OR_RETURN(server_, wire::Server::Listen(process_.loop(), options_.stack.tickerplant,
                                                    server, service_.get()));
  return absl::OkStatus();
}

void ChainedProgram::End(const absl::Status& why) {
  LogWarn("chained tickerplant ends reason=\"{}\"", Message(why));
  process_.Exit();
}

std::string ChainedProgram::Said(std::string_view key) const {
  const Value stats = *service_->UpstreamStats();
  for (size_t i = 0; i < stats.keys().symbols().size(); ++i) {
    if (stats.keys().symbols()[i] != key) continue;
    const Value& value = stats.values().items()[i];
    if (value.is_string()) return std::string(value.text());
    if (value.is_atom_of(Type::kSymbol)) return std::string(value.symbol());
    return std::to_string(value.as<int64_t>());
  }
  return "";
}

absl::StatusOr<std::unique_ptr<Program>> StartChained(Process& process,
                                                      const ChainedOptions& options) {
  auto program = std::make_unique<ChainedProgram>(process, options);
  TS_RETURN_IF_ERROR(program->Start());
  return program;
}

}  // namespace tickstack::simulate
