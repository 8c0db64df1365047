#pragma once

// A chained tickerplant (docs/operating/chained.md) that copies the rows of a cluster, wired as
// tickerplant_main.cc wires it.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulate/rows.h"
#include "tests/simulate/stack.h"
#include "tests/simulate/world.h"
#include "tickerplant/chained/upstream.h"
#include "wire/client.h"

namespace tickstack::simulate {

struct ChainedOptions {
  StackOptions stack;  // `folder` is on its machine, and `tickerplant` is its own address.
  std::vector<Schema> schemas;
  tickerplant::UpstreamOptions upstream;

  // Returns the rows that pass its filter.
  TableTexts Filter(const TableTexts& tables, const std::vector<Schema>& copied) const;
};

// `cluster`: options of the upstream, whose address has all members.
ChainedOptions DrawChainedOptions(Random& random, const StackOptions& cluster);

// Asks the upstream for the day to begin with, unless it has one, and then copies.
class ChainedProgram final : public Program, public wire::ClientHandler {
 public:
  ChainedProgram(Process& process, const ChainedOptions& options);
  ~ChainedProgram() override;
  absl::Status Start();

  // nullptr: it does not know its day yet.
  const tickerplant::TickerplantService* service() const { return service_.get(); }
  // Values of `.u.upstream[]`. Only while there is a service.
  std::string Said(std::string_view key) const;

  void OnConnected(wire::Connection& connection) override;
  void OnMessage(wire::Connection&, const wire::ReceivedMessage&) override {}
  void OnClosed(wire::Connection&, const absl::Status&) override {}

 private:
  void AskDay();
  absl::Status Copy(std::optional<int32_t> date);
  void End(const absl::Status& why);

  Process& process_;
  const ChainedOptions& options_;
  const tickerplant::TickerplantOptions plant_;
  std::optional<tickerplant::Tickerplant::NewestDay> newest_;
  wire::Timer ask_again_;
  std::unique_ptr<wire::Client> client_;  // Until the day is known.
  std::unique_ptr<tickerplant::TickerplantService> service_;
  std::unique_ptr<wire::Server> server_;
};

absl::StatusOr<std::unique_ptr<Program>> StartChained(Process& process,
                                                      const ChainedOptions& options);

}  // namespace tickstack::simulate
