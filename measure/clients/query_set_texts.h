#pragma once

// The built-in query sets as the text of files. A run of the load test writes its set beside its
// results, so that it can be changed and run again.

#include <string_view>

namespace tickstack::measure {

inline constexpr std::string_view kPaperQueries =
    R"toml(# What the paper's monitor asked on its timer:
# the newest times, VWAP, and trades with their quotes, symbol by symbol.

[[client]]
name = "paper"
mode = "open"
arrivals = "even"
queries = ["newest_trade", "newest_quote", "newest_bars", "vwap", "asof"]

[[query]]
name = "newest_trade"
text = "exec max time from trade"

[[query]]
name = "newest_quote"
text = "exec max time from quote"

[[query]]
name = "newest_bars"
text = "(exec max time from trade_daily;exec max time from quote_daily)"
allow_errors = true        # a stack without an aggregation engine has no bars

[[query]]
name = "vwap"
text = "exec size wavg price from trade where sym=`{symbol}"
symbols = "turn"

[[query]]
name = "asof"
text = """exec avg price-0.5*bid+ask from aj[`sym`time;\
  select sym,time,price from trade where sym=`{symbol};\
  select sym,time,bid,ask from quote where sym=`{symbol}]"""
symbols = "turn"
)toml";

inline constexpr std::string_view kHeavyQueries =
    R"toml(# Whole columns, sorts and joins, beside short
# questions that are due whatever the others ask.

[[client]]
name = "analysts"
count = 2
mode = "closed"
think_ms = 100
queries = ["column_scan", "filter_scan", "top_trades", "sort", "by_symbol", "by_minute", "asof_all"]

[[client]]
name = "dashboards"
count = 8
mode = "open"
rate_per_s = 20
arrivals = "poisson"
queries = ["last_price", "spread", "minute"]
weights = [6, 3, 1]

[[query]]
name = "column_scan"
text = "select max bid,min ask,sum bsize,avg asize from quote"

[[query]]
name = "filter_scan"
text = """select n:count i,sum bsize,avg ask-bid from quote \
  where time within ({begin};{end}),bsize>4,ask>bid+0.015"""
window_s = 300

[[query]]
name = "top_trades"
text = "select[10;>size] time,sym,price,size from trade"

[[query]]
name = "sort"
text = "10#`spread xdesc select time,sym,spread:ask-bid from quote where time within ({begin};{end})"
window_s = 10

[[query]]
name = "by_symbol"
text = "select size wavg price,high:max price,low:min price,n:count i by sym from trade"

[[query]]
name = "by_minute"
text = "select sum size,n:count i by time.minute from trade where time within ({begin};{end})"
window_s = 1800

[[query]]
name = "asof_all"
text = """select avg price-0.5*bid+ask by sym from aj[`sym`time;\
  select sym,time,price from trade where time within ({begin};{end});quote]"""
window_s = 60

[[query]]
name = "last_price"
text = "exec last price from trade where sym=`{symbol}"

[[query]]
name = "spread"
text = "select last bid,last ask,avg ask-bid from quote where sym=`{symbol},time within ({begin};{end})"
window_s = 60

[[query]]
name = "minute"
text = "select first price,max price,min price,last price,sum size by time.minute from trade where sym=`{symbol}"
)toml";

}  // namespace tickstack::measure
