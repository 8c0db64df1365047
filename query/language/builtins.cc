// The functions of the subset: the tables of the files builtins_*.cc, found by name.

#include "query/language/builtins.h"

#include <algorithm>
#include <array>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace tickstack::query {
namespace {

std::array<std::span<const Builtin>, 16> AllTables() {
  return {
      builtins::MathFunctions(),      builtins::LogicFunctions(),   builtins::CastFunctions(),
      builtins::TextFunctions(),      builtins::SortFunctions(),    builtins::SearchFunctions(),
      builtins::ListFunctions(),      builtins::UniformFunctions(), builtins::AggregateFunctions(),
      builtins::JoinFunctions(),      builtins::TableFunctions(),   builtins::IterateFunctions(),
      builtins::InterpretFunctions(), builtins::QueryFunctions(),   builtins::SystemFunctions(),
      builtins::RandomFunctions()};
}

// The words of q that name functions or parts of expressions (code.kx.com/q/ref).
constexpr std::string_view kReserved[] = {
    "abs",    "acos",     "aj",     "aj0",     "ajf",    "ajf0",       "all",     "and",
    "any",    "asc",      "asin",   "asof",    "atan",   "attr",       "avg",     "avgs",
    "bin",    "binr",     "by",     "ceiling", "cols",   "cor",        "cos",     "count",
    "cov",    "cross",    "csv",    "cut",     "delete", "deltas",     "desc",    "dev",
    "differ", "distinct", "div",    "do",      "dsave",  "each",       "ej",      "ema",
    "enlist", "eval",     "except", "exec",    "exit",   "exp",        "fby",     "fills",
    "first",  "fkeys",    "flip",   "floor",   "from",   "get",        "getenv",  "group",
    "gtime",  "hclose",   "hcount", "hdel",    "hopen",  "hsym",       "iasc",    "idesc",
    "if",     "ij",       "ijf",    "in",      "insert", "inter",      "inv",     "key",
    "keys",   "last",     "like",   "lj",      "ljf",    "load",       "log",     "lower",
    "lsq",    "ltime",    "ltrim",  "mavg",    "max",    "maxs",       "mcount",  "md5",
    "mdev",   "med",      "meta",   "min",     "mins",   "mmax",       "mmin",    "mmu",
    "mod",    "msum",     "neg",    "next",    "not",    "null",       "or",      "over",
    "parse",  "peach",    "pj",     "prd",     "prds",   "prev",       "prior",   "rand",
    "rank",   "ratios",   "raze",   "read0",   "read1",  "reciprocal", "reval",   "reverse",
    "rload",  "rotate",   "rsave",  "rtrim",   "save",   "scan",       "scov",    "sdev",
    "select", "set",      "show",   "signum",  "sin",    "sqrt",       "ss",      "ssr",
    "string", "sublist",  "sum",    "sums",    "sv",     "svar",       "system",  "tables",
    "tan",    "til",      "trim",   "type",    "uj",     "ujf",        "ungroup", "union",
    "update", "upper",    "upsert", "value",   "var",    "view",       "views",   "vs",
    "wavg",   "where",    "while",  "within",  "wj",     "wj1",        "wsum",    "xasc",
    "xbar",   "xcol",     "xcols",  "xdesc",   "xexp",   "xgroup",     "xkey",    "xlog",
    "xprev",  "xrank",
};

// Every name of a request is looked up here several times.
const absl::flat_hash_map<std::string_view, const Builtin*>& BuiltinsByName() {
  static const auto* const kByName = [] {
    auto* const by_name = new absl::flat_hash_map<std::string_view, const Builtin*>;
    for (const std::span<const Builtin> table : AllTables()) {
      for (const Builtin& builtin : table) by_name->emplace(builtin.name, &builtin);
    }
    return by_name;
  }();
  return *kByName;
}

}  // namespace

const Builtin* FindBuiltin(std::string_view name) {
  const auto found = BuiltinsByName().find(name);
  return found == BuiltinsByName().end() ? nullptr : found->second;
}

bool IsReservedWord(std::string_view name) {
  static const auto* const kWords =
      new absl::flat_hash_set<std::string_view>(std::begin(kReserved), std::end(kReserved));
  return kWords->contains(name);
}

std::span<const std::string_view> ReservedWords() { return kReserved; }

std::vector<Builtin> DottedBuiltins() {
  std::vector<Builtin> dotted;
  for (const std::span<const Builtin> table : AllTables()) {
    for (const Builtin& builtin : table) {
      if (builtin.name.size() > 1 && builtin.name[0] == '.') dotted.push_back(builtin);
    }
  }
  return dotted;
}

SymbolVector BuiltinNames() {
  SymbolVector names;
  for (const std::span<const Builtin> table : AllTables()) {
    for (const Builtin& builtin : table) {
      if (builtin.name[0] >= 'a' && builtin.name[0] <= 'z') names.push_back(builtin.name);
    }
  }
  return names;
}

}  // namespace tickstack::query
