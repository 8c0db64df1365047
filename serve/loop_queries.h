#pragma once

// Answers the clients of a process that has no tables, only functions of its own such as
// `.feed.stats`. Requests are answered on the thread that does the process's work. An expression is
// evaluated within query::LoopLimits. A list that begins with a function's name, such as
// (`.feed.stats;()), is a call that needs no evaluation: it is answered however long the thread was
// delayed.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/time.h"
#include "query/language/environment.h"
#include "security/user_rights.h"
#include "wire/server.h"

namespace tickstack::serve {

// The handler of the process's server. Threads: the server's loop.
class LoopQueries final : public wire::ServerHandler {
 public:
  // What a function does: one that changes the process needs the right to administer.
  enum class Effect : uint8_t { kChanges, kReads };
  // A function is called as `name[]`; arguments are ignored.
  struct Function {
    std::string_view name;  // Must outlive this, as a literal does.
    std::function<absl::StatusOr<Value>()> call;
    Effect effect = Effect::kChanges;
    // Items of the answer, a dictionary, that are dictionaries by table. Entries of tables that the
    // client may not know are left out. Texts are withheld from a client that may not know all of
    // these tables, or all tables if there is no such item.
    std::vector<std::string_view> by_table = {};
  };

  // `clock` must outlive this, and so must whatever the functions use. `prepare`, if any, is called
  // before each request; its time does not count as the request's.
  LoopQueries(const Clock* clock, std::vector<Function> functions,
              std::function<void()> prepare = nullptr)
      : environment_(clock, std::move(functions)), prepare_(std::move(prepare)) {}

  void OnMessage(wire::Connection& connection, const wire::ReceivedMessage& message) override;
  void OnClosed(wire::Connection&, const absl::Status&) override {}

 private:
  class Functions final : public query::Environment {
   public:
    Functions(const Clock* clock, std::vector<Function> functions)
        : clock_(clock), functions_(std::move(functions)) {}
    std::optional<Snapshot> FindTable(std::string_view) override { return std::nullopt; }
    std::vector<std::string> TableNames() override { return {}; }
    int64_t NowNs() override { return clock_->NowNs(); }
    std::vector<std::string> FunctionNames() override;
    std::optional<absl::StatusOr<Value>> Call(std::string_view name,
                                              std::span<const Value> args) override;
    bool Changes(std::string_view name, std::span<const Value> args) override;
    // The rights of the client whose request is answered; nullptr: none is.
    void set_access(const security::Access* access) { access_ = access; }

   private:
    Value WithoutHidden(const Value& answer, std::span<const std::string_view> by_table) const;

    const security::Access* access_ = nullptr;
    const Clock* const clock_;
    const std::vector<Function> functions_;
  };

  static bool AnswerCall(wire::Connection& connection, const wire::ReceivedMessage& message,
                         query::Environment& environment);

  Functions environment_;
  const std::function<void()> prepare_;
};

// Returns the options of a server with such a handler: its requests are small. `status` must
// outlive the server.
wire::ServerOptions LoopServerOptions(wire::StatusSource* status);

}  // namespace tickstack::serve
