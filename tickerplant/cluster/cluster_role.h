#pragma once

// A tickerplant of several: it follows until it is elected, and then leads. cluster_member.h has
// one whose leader sends it blocks, and topic_member.h one that reads them from a topic.
//
// While it follows, it accepts connections, and answers `.u.replica[]`, but no part of it such as
// `.u.replica[]`epoch. It closes a connection that sends anything else, so that a client that knows
// several addresses tries the next one. A query in q, as people send them, is refused by name
// first: `standby: HOST:PORT leads`. Processes see a lost connection, which they all survive, and
// not an answer that they do not know.
//
// Threads: the loop's.

#include <string>

#include "absl/status/status.h"
#include "table/value.h"
#include "tickerplant/opened_log.h"
#include "tickerplant/standby/replication_messages.h"
#include "wire/server.h"

namespace tickstack::tickerplant {

class TickerplantService;

class ClusterRole : public wire::ServerHandler {
 public:
  // Closes the log, and gives the leadership up. Blocks: runs the loop.
  virtual absl::Status Stop() = 0;
  // The log of a member that leads, open: reading its index again may take longer than the lease.
  // Without a writer if there is no log yet.
  virtual OpenedLog TakeLog() = 0;
  // Makes the service that has opened the log lead. To be called once, after the election.
  virtual void Lead(TickerplantService& service) = 0;
  // Records that this member, which leads, has logged everything up to `place`.
  virtual void NoteLogged(ReplicaPlace place) = 0;
  // The answer to `.u.replica[]` of a member that follows.
  virtual Value Stats() const = 0;

  // The server of a member that follows.
  void OnOpened(wire::Connection&) override {}
  void OnMessage(wire::Connection& connection, const wire::ReceivedMessage& message) override;
  void OnClosed(wire::Connection&, const absl::Status&) override {}

 private:
  // What a query is refused with.
  virtual std::string Refusal() const = 0;
};

}  // namespace tickstack::tickerplant
