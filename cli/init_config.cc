#include "cli/init_config.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/status.h"

namespace tickstack::cli {
namespace {

constexpr size_t kCommentColumn = 25;

bool IsControl(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

// A string of TOML.
std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

// `key = value    # comment`.
std::string Line(std::string_view key, std::string_view value, std::string_view comment) {
  const std::string assignment = fmt::format("{} = {}", key, value);
  return fmt::format("{:<{}}# {}\n", assignment, std::max(kCommentColumn, assignment.size() + 2),
                     comment);
}

std::string Head(std::string_view path) {
  return fmt::format(
      R"(# A stack that captures market data, written by `tickstack init`.
#
#   tickstack check {0}    shows errors of this file, or what the stack would use
#   tickstack up {0}       runs the stack; Ctrl-C stops it
#   tickstack top {0}      shows rates, lags and memory of its processes
#
# A line `key = value` belongs to the [section] above it. A line that begins with # is a comment; a line
# such as `# key = value` shows a key that is not set. An unknown key is an error. Paths are relative to
# the directory in which the stack is started. Sizes are "64MiB" or a number of bytes, durations "50ms"
# or "17h". All keys, with their defaults: man tickstack.toml, or examples/stack.toml in the sources.
)",
      path);
}

std::string Stack(const InitAnswers& answers) {
  std::string text = "\n[stack]\n";
  text += Line("data", Quoted(answers.data), "directory of logs, past days and log lines");
  if (answers.feed == InitFeed::kLean) {
    text += Line("date", Quoted(answers.date), "day that is replayed; remove it to capture today");
  }
  return text +
         R"(# restart = false        # stop the stack if a process dies; default: restart that process
# readable_by = "group"  # let the group read logs and past days; default: "owner"
)";
}

std::string Security(const InitAnswers& answers) {
  std::string text = "\n";
  if (answers.users.empty()) {
    return text +
           R"(# Without a users file, every client may do everything. `tickstack user --help` tells how to write one.
# [security]
# users = "users"
)";
  }
  text +=
      "# Clients log in, and have the rights of their user: `tickstack user --help`.\n[security]\n";
  return text + Line("users", Quoted(answers.users), "who may log in, and their rights");
}

std::string Tls(const InitAnswers& answers) {
  if (answers.certificate.empty()) {
    return R"(
# Without TLS, passwords and rows cross the network as they are.
# [tls]
# listen = "required"
# certificate = "server.pem"
# key = "server.key"
)";
  }
  std::string text =
      "\n# Clients connect to tcps://HOST:PORT, and browsers to https://HOST:PORT.\n[tls]\n";
  text += Line("listen", "\"required\"", R"("optional": clients choose whether to use TLS)");
  text += Line("certificate", Quoted(answers.certificate), "PEM: the certificate and its issuers'");
  text += Line("key", Quoted(answers.key), "PEM: its private key");
  text +=
      answers.ca.empty()
          ? "# ca = \"ca.pem\"          # whom the stack's processes trust; default: the system's\n"
          : Line("ca", Quoted(answers.ca), "PEM: whom the stack's processes trust");
  text += answers.server_name.empty()
              ? "# server_name = \"name\"   # name in the certificate, if it is not for 127.0.0.1\n"
              : Line("server_name", Quoted(answers.server_name),
                     "name in the certificate that the stack's processes expect");
  return text;
}

constexpr std::string_view kTables = R"(
# The tables, by column: name and kdb+ type letter. p is a timestamp, s a symbol, f a float, i and j are
# integers of 4 and 8 bytes, b a boolean, c a character, * a string. Feeds and queries need no other
# declaration; change the tables before the first day is captured.
[tables]
trade = "time p, sym s, price f, size i, stop b, cond c, ex c"
quote = "time p, sym s, bid f, ask f, bsize j, asize j, mode c, ex c"
)";

std::string Host(const InitAnswers& answers) {
  return answers.others_connect
             ? Line("host", "\"0.0.0.0\"", "other machines may connect; 127.0.0.1: only this one")
             : "# host = \"0.0.0.0\"       # other machines may connect; needs `users` in "
               "[security]\n";
}

std::string Http(const InitAnswers& answers) {
  return answers.others_connect
             ? "# http = true            # also answer browsers and curl, which is off beyond this "
               "machine\n"
             : "# http = false           # do not answer browsers and curl on this port\n";
}

std::string Tickerplant(const InitAnswers& answers) {
  std::string text =
      "\n# Takes rows from feeds, writes them to the day's log, and publishes them to "
      "subscribers.\n"
      "[tickerplant]\n";
  text += Line("port", fmt::format("{}", answers.port), "feeds and subscribers connect here");
  text += Host(answers) + Http(answers);
  text += Line("batch_ms", "50", "publish interval in ms; 0 publishes every message immediately");
  text += Line("fsync", "\"interval\"",
               R"(sync the log every 100 ms; "batch": before publishing; "none": never)");
  text +=
      answers.feed == InitFeed::kLean
          ? Line("time_zone", "\"America/New_York\"", "days begin at midnight of this time zone")
          : Line("time_zone", "\"UTC\"", R"(days begin at midnight here; or "America/New_York")");
  return text +
         "# roll_offset = \"17h\"    # days begin this long after midnight; default \"0s\"\n";
}

std::string Rdb(const InitAnswers& answers) {
  std::string text =
      "\n# The real-time database: today's rows in memory, for queries. Repeat the section, with "
      "another\n"
      "# `name` and `port`, to have several.\n[[rdb]]\n";
  text += Line("port", fmt::format("{}", answers.port + 1), "clients query today here");
  text += Host(answers) + Http(answers);
  text += Line("query_max_bytes", "\"1GiB\"", "memory of one query");
  text += Line("query_timeout_s", "0", "time limit of a query in s; 0: none");
  return text;
}

std::string Tiers(const InitAnswers& answers) {
  if (answers.tier_path.empty()) {
    return R"(
# All columns are in DRAM. `tickstack tiers FILE` shows how much memory the rows need.
# [tier.dram]
# size = "64GiB"         # rows beyond this size are refused and counted; default: the machine's memory
)";
  }
  std::string text =
      "\n# A second memory tier. `tickstack tiers FILE` shows how much memory the rows need.\n"
      "[tier.second]\n";
  text += Line("kind", "\"filesystem\"",
               R"(files that end with the rdb; "persistent": rows survive a restart)");
  text += Line("path", Quoted(answers.tier_path), "directory on a DAX mount, tmpfs or a disk");
  text += Line("size", Quoted(answers.tier_size), "reserved at start; rows beyond it are refused");
  return text + R"(
# Which tier has which columns. Queries read time, sym and the index most, so these are in DRAM.
[placement]
default = "second"
"trade.time" = "dram"
"trade.sym" = "dram"
"quote.time" = "dram"
"quote.sym" = "dram"
index = "dram"
query = "dram"           # results and temporaries of queries
)";
}

std::string PastDays(const InitAnswers& answers) {
  std::string text =
      "\n# At the end of a day, the rdb writes it to the database of past days, `hdb` in the data "
      "directory.\n"
      "[eod]\n"
      "# keep_logs_days = 30    # remove older logs whose day is in the database; default: keep "
      "all\n"
      "[eod.compression]\n";
  text += Line("default", "\"none\"", R"(or "lz4-1", "zstd-3", "gzip-6", "snappy", "ipc")");
  text += "\n# The historical database: past days, for queries.\n[hdb]\n";
  text += Line("port", fmt::format("{}", answers.port + 2), "clients query past days here");
  return text + Host(answers) + Http(answers);
}

std::string Feed(const InitAnswers& answers) {
  if (answers.feed == InitFeed::kNone) {
    return fmt::format(R"(
# No feed: a feed handler connects to port {}, and sends rows by `.u.upd`, as in kdb+tick.
)",
                       answers.port);
  }
  const bool lean = answers.feed == InitFeed::kLean;
  std::string text = lean ? "\n# Publishes a day of an archive of real ticks.\n[feed]\n"
                          : "\n# Publishes a simulated market. Remove the section when real feeds "
                            "connect.\n[feed]\n";
  text += Line("port", fmt::format("{}", answers.port + 5), "answers .feed.stats[]");
  if (!lean) {
    text += Line("source", "\"sim\"", "sim: simulated trades and quotes; its prices are not real");
    text += Line("rate", "1000", "rows per second; a day of them takes about 8 GiB of memory");
    text += Line("seconds", "0", "duration; 0: until the stack stops");
    return text + Line("symbols", "500", "number of symbols");
  }
  text += Line("source", "\"lean\"", "an archive in the layout of QuantConnect LEAN");
  text += Line("path", Quoted(answers.ticks), "directory with a directory for each symbol");
  std::string symbols;
  for (const std::string& symbol : answers.symbols) {
    symbols += (symbols.empty() ? "" : ", ") + Quoted(symbol);
  }
  text += fmt::format("symbols = [{}]\n", symbols);
  return text + Line("speed", "60", "multiple of real time; 0: as fast as possible");
}

std::string Watching(const InitAnswers& answers) {
  std::string text =
      "\n# Measures how long rows take until queries see them: `tickstack top`, and the data "
      "directory.\n"
      "[monitor]\n";
  text += Line("port", fmt::format("{}", answers.port + 3), "answers .monitor.stats[]");
  return text + fmt::format(R"(
# Bars of each minute and day, in the tables trade_minute, trade_daily, quote_minute and quote_daily.
# [aggengine]
# port = {}
)",
                            answers.port + 4);
}

absl::Status CheckTexts(const InitAnswers& answers, std::string_view path) {
  std::vector<std::string_view> texts = {
      path,          answers.data,      answers.ticks,       answers.date,
      answers.users, answers.tier_path, answers.tier_size,   answers.certificate,
      answers.key,   answers.ca,        answers.server_name,
  };
  texts.insert(texts.end(), answers.symbols.begin(), answers.symbols.end());
  for (const std::string_view text : texts) {
    if (!std::ranges::any_of(text, IsControl)) continue;
    std::string shown(text);
    std::ranges::replace_if(shown, IsControl, '?');
    return InvalidArgument("\"{}\" contains a control character, expected a text without", shown);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> InitConfigText(const InitAnswers& answers, std::string_view path) {
  TS_RETURN_IF_ERROR(CheckTexts(answers, path));
  return Head(path) + Stack(answers) + Security(answers) + Tls(answers) + std::string(kTables) +
         Tickerplant(answers) + Rdb(answers) + Tiers(answers) + PastDays(answers) + Feed(answers) +
         Watching(answers);
}

}  // namespace tickstack::cli
