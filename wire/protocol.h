#pragma once

// The names that tickstack's processes send to each other in addition to those of kdb+tick.
// docs/protocol.md specifies who sends each message when, its arguments and its answer.

#include <cstdint>
#include <string_view>

namespace tickstack::wire::protocol {

// The tickerplant's value `.u.protocol`. It increases when a peer of an earlier version would
// misunderstand a message; such a peer disconnects and logs the reason.
inline constexpr int64_t kVersion = 1;
inline constexpr std::string_view kVersionValue = ".u.protocol";

// Rows: from feeds to the tickerplant, and from it to subscribers.
inline constexpr std::string_view kUpd = "upd";
inline constexpr std::string_view kFeedUpd = ".u.upd";
inline constexpr std::string_view kNumberedUpd = ".u.updn";
inline constexpr std::string_view kRefused = ".u.err";

// A feed's name, and the rows that are logged under it.
inline constexpr std::string_view kFeed = ".u.feed";
inline constexpr std::string_view kFeeds = ".u.feeds";
inline constexpr std::string_view kTakeover = "takeover";
inline constexpr std::string_view kAgain = "again";
inline constexpr std::string_view kWindow = ".u.window";

// Subscriptions, and the log that they begin with.
inline constexpr std::string_view kSubscribe = ".u.sub";
inline constexpr std::string_view kSubscribeNumbered = ".u.subx";
inline constexpr std::string_view kAhead = "ahead";
inline constexpr std::string_view kLog = ".u.log";
// The logs that a tickerplant still has, and pieces of them for a chained tickerplant.
inline constexpr std::string_view kLogs = ".u.logs";
inline constexpr std::string_view kChain = ".u.chain";
inline constexpr std::string_view kPublisher = ".u.publisher";
inline constexpr std::string_view kCuts = ".u.cuts";

// The end of a day.
inline constexpr std::string_view kEnd = ".u.end";
inline constexpr std::string_view kEndOfDay = ".u.endofday";
inline constexpr std::string_view kCloser = ".u.closer";
inline constexpr std::string_view kClosing = ".u.closing";
inline constexpr std::string_view kClosed = ".u.closed";

// Blocks of the log, from a leading tickerplant to its standbys.
inline constexpr std::string_view kReplicate = ".u.replicate";
inline constexpr std::string_view kReplicaBlock = ".u.block";
inline constexpr std::string_view kReplicaAcked = ".u.acked";
inline constexpr std::string_view kReplicaNextDay = ".u.nextday";

// From a client that knows several tickerplants: the tickerplant then sends this, too, every
// kAliveEveryMs to the client, which goes to the next one if it gets nothing for long.
inline constexpr std::string_view kAlive = ".u.alive";
inline constexpr int64_t kAliveEveryMs = 250;

// Values and functions that describe the tickerplant. All but the last five are kdb+tick's.
inline constexpr std::string_view kPublishedCount = ".u.i";
inline constexpr std::string_view kLoggedCount = ".u.j";
inline constexpr std::string_view kLogPath = ".u.L";
inline constexpr std::string_view kLogHandle = ".u.l";
inline constexpr std::string_view kDate = ".u.d";
inline constexpr std::string_view kSubscriptions = ".u.w";
inline constexpr std::string_view kTables = ".u.t";
inline constexpr std::string_view kStats = ".u.stats";
inline constexpr std::string_view kActivity = ".u.activity";
inline constexpr std::string_view kUpstream = ".u.upstream";
inline constexpr std::string_view kReplica = ".u.replica";
// Which shard a tickerplant or an rdb is (table/shard_id.h).
inline constexpr std::string_view kShard = ".u.shard";

// True if `verb` publishes rows to a subscriber.
constexpr bool IsUpd(std::string_view verb) { return verb == kUpd || verb == kFeedUpd; }

}  // namespace tickstack::wire::protocol
