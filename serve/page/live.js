"use strict";
// The live page of a process. /events sends its state about once a second (serve/event_json.h); a monitor's events
// have the other processes of its stack, too. All that is shown comes from the newest event, except rates and charts,
// which need earlier ones.
(() => {
  const SECONDS_MAX = 300;      // Length of the charts.
  const RATE_MS = 5000;         // A rate is the mean of this time.
  const STALE_MS = 4000;        // Without an event for this time, the page says so.
  const PAST_MAX = 12;          // Problems that are remembered.
  const UNLIMITED = 9e18;       // The JSON of an infinite long.
  const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";
  const byId = (id) => document.getElementById(id);

  // --- Texts -------------------------------------------------------------------------------------

  const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
  const count = (value) => (isNumber(value) ? Math.round(value).toLocaleString("en") : "-");
  const digits = (value) => String(Number(value.toPrecision(3)));
  function timeText(ms) {
    if (!isNumber(ms)) return "-";
    const size = Math.abs(ms);
    if (size === 0) return "0 ms";
    if (size < 1) return digits(ms * 1e3) + " us";
    if (size < 1e3) return digits(ms) + " ms";
    if (size < 12e4) return digits(ms / 1e3) + " s";
    if (size < 72e5) return digits(ms / 6e4) + " min";
    return digits(ms / 36e5) + " h";
  }
  function bytesText(bytes) {
    if (!isNumber(bytes)) return "-";
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let i = 0;
    for (; Math.abs(bytes) >= 1000 && i + 1 < units.length; ++i) bytes /= 1024;
    return digits(bytes) + " " + units[i];
  }
  const rateText = (rate) => (isNumber(rate) ? (rate > 0 && rate < 10 ? digits(rate) : count(rate)) + " rows/s" : "- rows/s");
  const dayText = (day) => (day > 0 ? String(day).replace(/(\d{4})(\d\d)(\d\d)/, "$1.$2.$3") : "none");
  const clockText = (ms) => new Date(ms).toLocaleTimeString("en-GB");

  // --- Elements ----------------------------------------------------------------------------------
  // h() describes an element, and fill() makes the children of an element so. Elements stay where they can, because a
  // new one would lose the keyboard's focus.

  const h = (tag, attributes, ...children) => ({tag, attributes: attributes || {}, children: children.flat().filter((c) => c !== null && c !== undefined)});
  function fill(parent, wanted) {
    wanted.forEach((one, i) => {
      let node = parent.childNodes[i];
      if (typeof one !== "object") {
        if (!node || node.nodeType !== Node.TEXT_NODE) {
          const text = document.createTextNode("");
          node ? node.replaceWith(text) : parent.append(text);
          node = text;
        }
        if (node.data !== String(one)) node.data = String(one);
        return;
      }
      if (!node || node.nodeName.toLowerCase() !== one.tag) {
        const made = document.createElement(one.tag);
        node ? node.replaceWith(made) : parent.append(made);
        node = made;
      }
      for (const {name} of [...node.attributes]) if (!(name in one.attributes)) node.removeAttribute(name);
      for (const [name, value] of Object.entries(one.attributes)) {
        if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
      }
      fill(node, one.children);
    });
    while (parent.childNodes.length > wanted.length) parent.lastChild.remove();
  }
  function show(id, children) {
    const section = byId(id);
    section.hidden = children.length === 0;
    if (children.length > 0) fill(section.querySelector(".content"), children);
  }

  // --- What is known of processes ----------------------------------------------------------------

  const samples = new Map();  // By `role:name counter`: [[ms, value], ...] of the last RATE_MS.
  // Takes a counter's value, and returns its growth per second; null until there are two values.
  function rateOf(process, counter, value) {
    if (!isNumber(value) || !isNumber(process.ms)) return null;
    const key = process.role + ":" + process.name + " " + counter;
    let list = samples.get(key);
    if (!list) samples.set(key, list = []);
    const newest = list[list.length - 1];
    if (newest && value < newest[1]) list.length = 0;  // The process was restarted.
    if (!newest || process.ms > newest[0]) list.push([process.ms, value]);
    while (list.length > 2 && list[1][0] <= process.ms - RATE_MS) list.shift();
    const [first, last] = [list[0], list[list.length - 1]];
    return last[0] > first[0] ? (last[1] - first[1]) * 1e3 / (last[0] - first[0]) : null;
  }
  const STATS = {tickerplant: ".u.stats", chained: ".u.stats", rdb: ".rdb.stats", hdb: ".hdb.stats", feed: ".feed.stats", aggengine: ".agg.stats", monitor: ".monitor.stats"};
  const isPlant = (process) => process.role === "tickerplant" || process.role === "chained";
  const upstreamOf = (process) => process.facts[".u.upstream"] || {};
  const statsOf = (process) => process.facts[STATS[process.role]] || {};
  const sum = (numbers) => Object.values(numbers || {}).filter(isNumber).reduce((a, b) => a + b, 0);

  // Processes with their rates, from an event.
  function processesOf(event) {
    const self = {role: event.role, name: event.name, ms: event.ms, connected: true, error: "", facts: event.facts, self: true, reasons: event.reasons};
    const others = (event.stack || []).map((one) => ({...one, href: location.protocol + "//" + location.hostname + ":" + one.port + "/"}));
    const all = [...others, self];
    for (const one of all) {
      const stats = statsOf(one);
      one.late = isNumber(one.ms) ? event.ms - one.ms : 0;
      if (isPlant(one)) one.rate = rateOf(one, "rows", stats.rows);
      if (one.role === "rdb") one.rate = rateOf(one, "rows", stats.rows);
      if (one.role === "aggengine") {
        one.rate = rateOf(one, "in", stats.rows_in);
        one.rateOut = rateOf(one, "out", stats.rows_out);
      }
      if (one.role === "feed") one.rate = one.connected ? stats.rows_per_s : null;
      if (!one.connected || one.late > STALE_MS) one.rate = one.rateOut = null;
      one.problems = problemsOf(one);
    }
    return all;
  }

  // The same checks as /readyz makes, as far as a process's statistics tell. Its own page has its reasons.
  function problemsOf(one) {
    if (one.reasons) return one.reasons;
    if (one.connected && one.late > STALE_MS) return [`it has not answered for ${timeText(one.late)}`];
    if (!one.connected) return isNumber(one.ms) || one.error ? ["it is away" + (one.error ? ": " + one.error : "")] : [];
    const stats = statsOf(one), problems = [];
    const check = (bad, text) => { if (bad) problems.push(text); };
    check(one.error, one.error);
    if (one.role === "chained") {
      const upstream = upstreamOf(one);
      check(upstream.state === "unconnected" || upstream.state === "refused", `its upstream is ${upstream.state}: ${upstream.error || ""}`);
      check(upstream.state === "reading" && upstream.behind_ms > 5000, `it is ${timeText(upstream.behind_ms)} behind its upstream`);
    }
    if (isPlant(one)) {
      check(stats.subscribers_behind > 0, `${count(stats.subscribers_behind)} subscribers are behind, by up to ${count(stats.behind_rows)} rows`);
      check(stats.day_overdue_ms > 60000, `the day has been over for ${timeText(stats.day_overdue_ms)} and has not ended`);
    }
    if (one.role === "rdb" || one.role === "aggengine") {
      check(stats.connected === 0, "the tickerplant is lost");
      check(stats.connected === 1 && stats.live === 0 && stats.incomplete === 0, "it is behind: rows of the log are still being read");
      check(stats.incomplete === 1, "it lacks rows of the log");
      check(stats.rows_refused > 0, `${count(stats.rows_refused)} rows were refused: a tier is full`);
      check(stats.upds_refused > 0, `${count(stats.upds_refused)} messages were refused`);
    }
    if (one.role === "rdb") check(stats.day_blocked > 0, `the day ${dayText(stats.day_blocked)} is not written until an operator acts: ${one.facts[".rdb.blocked"] || ""}`);
    for (const tier of tiersOf(one)) check(tier.part > 0.8 && !tier.passesOn, `tier ${tier.name} is ${Math.round(tier.part * 100)} % full`);
    // There is no database before the first day has ended.
    if (one.role === "hdb") check(stats.problems > 0 && isNumber(stats.partitions), `${count(stats.problems)} parts of the database are not loaded`);
    if (one.role === "feed") {
      check(stats.state === "failed" || stats.state === "held", `the feed is ${stats.state}: ${stats.error || ""}`);
      check(stats.state === "publishing" && stats.connected === false, "the tickerplant is lost");
    }
    return problems;
  }
  function tiersOf(one) {
    return (one.facts[".tier.stats"] || []).map((tier) => ({
      name: tier.tier, used: tier.used, passesOn: tier.passes_on === 1, capacity: tier.capacity < UNLIMITED ? tier.capacity : null, high: tier.high_water,
      resident: tier.resident, part: tier.capacity < UNLIMITED && tier.capacity > 0 ? tier.used / tier.capacity : 0,
    }));
  }

  // --- The flow ----------------------------------------------------------------------------------

  function stateText(one) {
    const stats = statsOf(one);
    if (!one.connected) return isNumber(one.ms) || one.error ? ["away", "bad"] : ["asking", "quiet"];
    if (one.late > STALE_MS) return ["not answering", "bad"];
    if (one.role === "feed") return [stats.state || "", stats.state === "failed" || stats.state === "held" ? "bad" : "good"];
    if (one.role === "chained" && isNumber(one.ms)) {
      const state = upstreamOf(one).state || "";
      return [state, state === "live" ? "good" : state === "reading" ? "warn" : "bad"];
    }
    if (one.role === "rdb" || one.role === "aggengine") {
      return stats.live === 1 ? ["live", "good"] : stats.incomplete === 1 ? ["incomplete", "bad"] : ["catching up", "warn"];
    }
    return isNumber(one.ms) ? ["up", "good"] : ["asking", "quiet"];
  }
  function figuresOf(one) {
    const stats = statsOf(one);
    if (isPlant(one)) return [`${count(stats.rows)} rows`, `${count(stats.subscribers)} subscribers`];
    if (one.role === "rdb") return [`${count((stats.rows || 0) + (stats.rows_replayed || 0))} rows`, `${count(stats.queries)} queries`];
    if (one.role === "aggengine") return [`${count(stats.bars)} bars`];
    if (one.role === "hdb") return [isNumber(stats.partitions) ? `${count(stats.partitions)} partitions` : "no database yet", `${count(stats.queries)} queries`];
    if (one.role === "feed") return [`${count(stats.rows_total)} rows sent`];
    return [];
  }
  function card(one) {
    if (one.ghost) return h("div", {class: "card"}, h("b", {}, one.name), ...one.lines.map((line) => h("span", {class: "quiet"}, line)));
    const [state, tone] = stateText(one);
    const border = one.problems.length > 0 ? (tone === "bad" ? " is-bad" : " is-warn") : "";
    const name = one.name === one.role ? one.role : `${one.name} (${one.role})`;
    const content = [h("b", {}, name), h("span", {class: tone}, state), ...(one.connected && isNumber(one.ms) ? figuresOf(one).map((text) => h("span", {}, text)) : [])];
    return one.href ? h("a", {class: "card" + border, href: one.href}, content) : h("div", {class: "card" + border}, content);
  }
  function edge(rate, lag, tone, back) {
    return h("span", {class: "edge"}, h("span", {}, rate), h("span", {class: "line", "aria-hidden": "true"}), h("span", {class: tone || "quiet"}, lag), back ? h("span", {class: "quiet"}, back) : null);
  }
  const feedEdge = (feed) => {
    if (!feed.connected) return edge(rateText(null), "away", "bad");
    const lag = statsOf(feed).lag_ms;
    return edge(rateText(feed.rate), !isNumber(lag) ? "" : lag > 0 ? "lag " + timeText(lag) : "on time", lag > 1000 ? "warn" : "quiet");
  };
  // `lags`: the monitor's newest lags in ms, of the rdb that it asks.
  function readerEdge(reader, lags) {
    const stats = statsOf(reader);
    if (!reader.connected) return edge(rateText(null), "away", "bad");
    if (reader.role === "aggengine") {
      const lag = isNumber(stats.lag_ns) ? "bars after " + timeText(stats.lag_ns / 1e6) : "";
      return edge(rateText(reader.rate), lag, "quiet", isNumber(reader.rateOut) ? rateText(reader.rateOut) + " back" : "");
    }
    const newest = lags && isNumber(lags.trade_lag) ? "lag " + timeText(lags.trade_lag) : stats.live === 1 ? "live" : "behind";
    return edge(rateText(reader.rate), newest, stats.live === 1 ? "quiet" : "warn");
  }
  function hdbEdge(rdbs) {
    const kept = sum(rdbs.map((one) => statsOf(one).days_kept)), written = sum(rdbs.map((one) => statsOf(one).days_written));
    return edge(`${count(written)} days written`, kept > 0 ? `${count(kept)} waiting` : "none waiting", kept > 0 ? "warn" : "quiet");
  }
  const ghost = (name, ...lines) => ({ghost: true, name, lines});

  function flowOf(all, event, lags) {
    const of = (role) => all.filter((one) => one.role === role);
    const stage = (rows, middle) => h("div", {class: middle ? "stage middle" : "stage"}, rows);
    const row = (...parts) => h("div", {class: "row"}, parts);
    let feeds = of("feed"), plants = all.filter(isPlant), readers = [...of("rdb"), ...of("aggengine")], hdbs = of("hdb");
    const rdbs = of("rdb");
    const stages = [];
    if (event.role === "monitor") {
      if (plants.length === 0) plants = [ghost("tickerplant", "not watched")];
    } else if (isPlant(event)) {
      const stats = statsOf(plants[0]);
      const waits = stats.behind_rows > 0 ? `${count(stats.behind_rows)} rows behind` : `${bytesText(stats.queued_bytes)} queued`;
      const source = event.role === "chained" ? ghost("upstream", upstreamOf(plants[0]).address || "") : ghost("feeds", `${count(stats.feeds)} with a name`);
      stages.push(stage([row(card(source), edge(rateText(plants[0].rate), stats.feeds_waiting > 0 ? "waiting" : "accepted"))]));
      stages.push(stage([row(card(plants[0]))], true));
      stages.push(stage([row(edge(rateText(plants[0].rate), waits, stats.behind_rows > 0 ? "warn" : "quiet"), card(ghost("subscribers", `${count(stats.subscribers)} connected`)))]));
      return [h("div", {class: "flow"}, stages)];
    } else if (event.role === "hdb") {
      return [h("div", {class: "flow"}, stage([row(card(ghost("rdb", "writes days")), edge(`${count(statsOf(hdbs[0]).partitions)} partitions`, `${count(statsOf(hdbs[0]).reloads)} loads`))]), stage([row(card(hdbs[0]))]))];
    } else {
      plants = [ghost("tickerplant")];
      if (event.role === "rdb") hdbs = [ghost("hdb")];
    }
    if (feeds.length > 0) stages.push(stage(feeds.map((one) => row(card(one), feedEdge(one)))));
    stages.push(stage(plants.map((one) => row(card(one))), true));
    if (readers.length > 0) stages.push(stage(readers.map((one, i) => row(readerEdge(one, i === 0 ? lags : null), card(one)))));
    if (hdbs.length > 0) stages.push(stage([row(hdbEdge(rdbs), card(hdbs[0]))]));
    return [h("div", {class: "flow"}, stages)];
  }

  // --- Lists of figures --------------------------------------------------------------------------

  const bad = (value) => value > 0;
  // By role: label, value, text of it, and when it is bad.
  const QUEUES = {
    feed: [["rows sent again", (s) => s.refused, count], ["times the queue was full", (s) => s.queue_full, count], ["reconnects", (s) => s.reconnects, count]],
    tickerplant: [
      ["subscribers", (s) => s.subscribers, count], ["subscribers behind", (s) => s.subscribers_behind, count, bad], ["subscribers dropped", (s) => s.subscribers_dropped, count, bad],
      ["queued for all of them", (s) => s.queued_bytes, bytesText], ["rows behind", (s) => s.behind_rows, count, bad], ["feeds", (s) => s.feeds, count], ["feeds that wait", (s) => s.feeds_waiting, count, bad],
      ["messages logged, not published", (s) => s.logged_seq - s.published_seq, count],
    ],
    rdb: [
      ["clients", (s) => s.clients, count], ["queries running", (s) => s.queries_running, count], ["queries waiting", (s) => s.queries_waiting, count, bad],
      ["queries failed", (s) => s.queries_failed, count], ["unread answers", (s) => s.unread_bytes, bytesText], ["rows refused", (s) => s.rows_refused, count, bad],
    ],
    hdb: [
      ["clients", (s) => s.clients, count], ["queries running", (s) => s.queries_running, count], ["queries waiting", (s) => s.queries_waiting, count, bad],
      ["queries failed", (s) => s.queries_failed, count], ["unread answers", (s) => s.unread_bytes, bytesText],
    ],
    aggengine: [["messages unanswered", (s) => s.messages_unanswered, count], ["changed bars to send", (s) => s.rows_waiting, count], ["late rows", (s) => s.rows_late, count]],
    monitor: [["samples", (s) => s.samples, count], ["samples missed", (s) => s.missed, count], ["errors", (s) => s.errors, count, bad], ["answers to query clients", (s) => s.answers, count]],
  };
  QUEUES.chained = QUEUES.tickerplant;
  const DAYS = {
    tickerplant: [["today's log", (s) => s.log_bytes, bytesText], ["messages in it", (s) => s.logged_seq, count], ["day overdue", (s) => s.day_overdue_ms, timeText, (v) => v > 60000]],
    rdb: [
      ["days written", (s) => s.days_written, count], ["last day done", (s) => s.day_done, dayText], ["days waiting", (s) => s.days_kept, count, bad],
      ["failed attempts", (s) => s.day_errors, count, bad], ["blocked day", (s) => s.day_blocked, dayText, bad],
    ],
    hdb: [["partitions", (s) => s.partitions, count], ["tables", (s) => s.tables, count], ["problems", (s) => (isNumber(s.partitions) ? s.problems : 0), count, bad], ["loads", (s) => s.reloads, count]],
    aggengine: [["bars in memory", (s) => s.bars, count], ["days ended", (s) => s.days_ended, count]],
  };
  DAYS.chained = DAYS.tickerplant.slice(0, 2);
  function listsOf(all, figures) {
    return all.filter((one) => figures[one.role] && Object.keys(statsOf(one)).length > 0).map((one) => h("table", {}, h("caption", {}, one.name),
      h("tbody", {}, figures[one.role].map(([label, valueOf, text, isBad]) => {
        const value = valueOf(statsOf(one));
        return h("tr", {}, h("th", {scope: "row"}, label), h("td", isBad && isBad(value) ? {class: "bad"} : {}, text(value)));
      }))));
  }
  const headOf = (...names) => h("thead", {}, h("tr", {}, names.map((name) => h("th", {scope: "col"}, name))));

  function memoryOf(all) {
    const lists = [];
    for (const one of all) {
      for (const tier of tiersOf(one)) {
        const label = all.filter((other) => other.role === "rdb").length > 1 ? `${one.name}: ${tier.name}` : tier.name;
        const size = tier.capacity ? `${bytesText(tier.used)} of ${bytesText(tier.capacity)}` : `${bytesText(tier.used)}, unlimited`;
        lists.push(h("div", {class: "tier"}, h("div", {}, h("span", {}, label), h("span", tier.part > 0.8 ? {class: "bad"} : {}, size)),
          tier.capacity ? h("progress", {max: 1, value: tier.part.toFixed(4), "aria-label": `${label}: ${size}`, class: tier.part > 0.8 ? "is-bad" : ""}) : null,
          h("div", {class: "quiet"}, h("span", {}, `highest ${bytesText(tier.high)}`), isNumber(tier.resident) ? h("span", {}, `${bytesText(tier.resident)} in DRAM`) : null)));
      }
      const stats = statsOf(one);
      if (one.role === "aggengine" && isNumber(stats.state_bytes)) lists.push(h("div", {class: "tier"}, h("div", {}, h("span", {}, `${one.name}: bars`), h("span", {}, bytesText(stats.state_bytes)))));
      if (one.role === "hdb" && stats.cache_max_bytes > 0) lists.push(h("div", {class: "tier"}, h("div", {}, h("span", {}, `${one.name}: decompressed columns`), h("span", {}, `${bytesText(stats.decompressed_bytes)} of ${bytesText(stats.cache_max_bytes)}`))));
    }
    return lists;
  }

  // Tables with their rows: those that the tickerplant logs, or else an rdb's or a feed's own.
  function tablesOf(all) {
    const plant = all.find((one) => one.facts[".u.activity"]);
    if (plant) {
      const activity = plant.facts[".u.activity"];
      const names = Object.keys(activity.rows || {}).sort();
      return names.length === 0 ? [] : [h("table", {}, headOf("table", "rows logged", "rows/s", "silent for"), h("tbody", {}, names.map((name) => h("tr", {}, h("th", {scope: "row"}, name),
        h("td", {}, count(activity.rows[name])), h("td", {}, count(rateOf(plant, "table " + name, activity.rows[name]))), h("td", {}, timeText((activity.table_ms || {})[name]))))))];
    }
    const rdb = all.find((one) => Array.isArray(one.facts.tables));
    if (rdb) {
      return [h("table", {}, headOf("table", "rows", "memory"), h("tbody", {}, rdb.facts.tables.map((table) => h("tr", {}, h("th", {scope: "row"}, table.table), h("td", {}, count(table.rows)), h("td", {}, bytesText(table.bytes))))))];
    }
    const feed = all.find((one) => one.role === "feed" && one.self);
    const rows = feed && statsOf(feed).rows;
    return !rows ? [] : [h("table", {}, headOf("table", "rows sent", "rows logged"), h("tbody", {}, Object.keys(rows).sort().map((name) => h("tr", {}, h("th", {scope: "row"}, name), h("td", {}, count(rows[name])), h("td", {}, count((statsOf(feed).logged || {})[name]))))))];
  }

  function processOf(event) {
    const rows = [["version", event.version], ["up for", timeText(event.ms - event.start_s * 1e3)], ["processor time", timeText(event.cpu_s * 1e3)], ["resident memory", bytesText(event.resident_bytes)]];
    for (const disk of event.disks || []) rows.push([`disk of ${disk.disk}`, `${bytesText(disk.free)} free of ${bytesText(disk.size)}`]);
    return [h("table", {}, h("tbody", {}, rows.map(([label, text]) => h("tr", {}, h("th", {scope: "row"}, label), h("td", {}, text)))))];
  }

  // --- Problems ----------------------------------------------------------------------------------

  const past = [];  // {text, from, to}: `to` is null while it lasts.
  function remember(problems, ms) {
    // Numbers in a text change from event to event.
    const kind = (text) => text.replace(/[\d.,]+/g, "#");
    for (const entry of past) if (entry.to === null && !problems.some((text) => kind(text) === kind(entry.text))) entry.to = ms;
    for (const text of problems) {
      const entry = past.find((one) => one.to === null && kind(one.text) === kind(text));
      if (entry) entry.text = text;
      else past.unshift({text, from: ms, to: null});
    }
    past.length = Math.min(past.length, PAST_MAX);
  }
  function showProblems(problems) {
    const section = byId("problems");
    section.hidden = problems.length === 0;
    fill(section, problems.length === 0 ? [] : [h("h2", {}, problems.length === 1 ? "A problem" : `${problems.length} problems`), h("ul", {}, problems.map((text) => h("li", {}, text)))]);
    show("past", past.length === 0 ? [] : [h("ul", {class: "past"}, past.map((one) => h("li", {}, h("span", {class: "quiet"}, `${clockText(one.from)} ${one.to === null ? "until now" : "to " + clockText(one.to)} `), one.text)))]);
  }

  // --- Charts ------------------------------------------------------------------------------------

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  class Chart {
    constructor(id, text, logarithmic) {
      this.section = byId(id);
      this.box = this.section.querySelector(".chart");
      this.key = this.section.querySelector(".key");
      this.text = text;
      this.logarithmic = logarithmic;
      this.names = [];
      this.rows = [];  // [unix s, value or null, ...]
      new ResizeObserver(() => this.plot && this.plot.setSize(this.size())).observe(this.box);
      window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.drop(); this.draw(); });
    }
    size() { return {width: Math.max(200, this.box.clientWidth), height: 200}; }
    drop() {
      if (this.plot) this.plot.destroy();
      this.plot = null;
    }
    // Rows are in the order of time; those that are there already are skipped.
    add(names, rows) {
      if (names.join() !== this.names.join()) {
        this.drop();
        this.names = names;
        this.rows = [];
      }
      const newest = this.rows.length > 0 ? this.rows[this.rows.length - 1][0] : 0;
      this.rows.push(...rows.filter((row) => row[0] > newest));
      if (this.rows.length > SECONDS_MAX) this.rows.splice(0, this.rows.length - SECONDS_MAX);
      this.draw();
    }
    draw() {
      this.section.hidden = this.rows.length === 0;
      if (this.section.hidden) return;
      const columns = [this.rows.map((row) => row[0]), ...this.names.map((_, i) => this.rows.map((row) => this.shown(row[i + 1])))];
      if (!this.plot) this.plot = this.make(columns);
      else this.plot.setData(columns);
      fill(this.key, this.names.map((name, i) => h("li", {class: "s" + i % 6}, h("i"), `${name.replace(/_/g, " ")} ${this.text(this.newest(i))}`)));
      this.box.setAttribute("role", "img");
      this.box.setAttribute("aria-label", this.names.map((name, i) => `${name.replace(/_/g, " ")}: ${this.text(this.newest(i))}`).join(", "));
    }
    newest(i) {
      for (let at = this.rows.length - 1; at >= 0; --at) if (isNumber(this.rows[at][i + 1])) return this.rows[at][i + 1];
      return null;
    }
    shown(value) {
      if (!isNumber(value)) return null;
      return this.logarithmic ? Math.max(0.001, value) : value;
    }
    make(columns) {
      const isMajor = (value) => Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 1e-6;
      const major = (_, splits) => splits.map((value) => (!this.logarithmic || isMajor(value) ? value : null));
      const axis = {stroke: colour("quiet"), font: FONT, grid: {stroke: colour("line"), width: 1}, ticks: {stroke: colour("line"), width: 1}};
      return new uPlot({
        ...this.size(),
        legend: {show: false},
        cursor: {show: false},
        padding: [8, 28, 0, 0],
        scales: {
          x: {time: true, range: (_, min, max) => [Math.min(min, max - 60), max]},
          y: this.logarithmic ? {distr: 3, log: 10} : {range: (_, min, max) => [0, Math.max(1, max * 1.1)]},
        },
        axes: [
          {...axis, space: 70, values: (_, splits) => splits.map((s) => clockText(s * 1e3))},
          {...axis, size: 66, grid: {...axis.grid, filter: major}, ticks: {...axis.ticks, filter: major}, values: (_, splits) => splits.map((value) => (value === null || value === undefined ? "" : this.text(value)))},
        ],
        series: [{}, ...this.names.map((name, i) => ({label: name, stroke: colour("c" + i % 6), width: 1.75, dash: i % 2 ? [6, 4] : [], spanGaps: true, points: {show: false}}))],
      }, columns, this.box);
    }
  }
  const latency = new Chart("latency", timeText, true);
  const rates = new Chart("rates", (value) => count(value), false);

  const counted = new Map();  // By series: counts of the last event.
  // Returns an upper bound, in ms, of the time within which a part of the durations since the last event were; null if
  // there were none.
  function quantileOf(key, counts, part) {
    const before = counted.get(key) || counts;
    const grown = counts.map((value, i) => value - before[i]);
    const total = grown.reduce((a, b) => a + b, 0);
    if (!(total > 0)) return null;
    let seen = 0;
    for (let i = 0; i < grown.length; ++i) {
      seen += grown[i];
      if (seen >= part * total) return 1.024e-3 * Math.pow(2, i);
    }
    return null;
  }
  function addLatency(event) {
    if (event.latency) return latency.add(event.latency.names, event.latency.seconds);
    const names = [], row = [Math.floor(event.ms / 1e3)];
    for (const one of event.durations || []) {
      const key = one.source + " " + one.label;
      names.push(`${one.label || one.source} p99`);
      row.push(quantileOf(key, one.counts, 0.99));
      counted.set(key, one.counts);
    }
    if (names.length > 0) latency.add(names, [row]);
  }
  function addRates(all, event) {
    const plant = all.find(isPlant), names = [], row = [Math.floor(event.ms / 1e3)];
    for (const one of plant ? [plant, ...all.filter((other) => other.role === "aggengine")] : all) {
      if (!("rate" in one)) continue;
      names.push(one.name);
      row.push(one.rate);
    }
    if (names.length > 0 && row.slice(1).some(isNumber)) rates.add(names, [row]);
  }

  // --- Events ------------------------------------------------------------------------------------

  let shownAt = 0, events = 0;
  function setState(text, tone) {
    fill(byId("state"), [text]);
    byId("state").className = "state " + tone;
  }
  function lagsOf(event) {
    const seconds = event.latency ? event.latency.seconds : [];
    if (seconds.length === 0) return null;
    return Object.fromEntries(event.latency.names.map((name, i) => [name, seconds[seconds.length - 1][i + 1]]));
  }
  function take(event) {
    shownAt = Date.now();
    const all = processesOf(event), name = event.name === event.role ? event.role : `${event.name} (${event.role})`;
    fill(byId("title"), [`tickstack ${name}`]);
    document.title = `${event.ready ? "" : "! "}${event.name} - tickstack`;
    const problems = all.flatMap((one) => one.problems.map((text) => (one.self ? text : `${one.name}: ${text}`)));
    remember(problems, event.ms);
    setState(problems.length === 0 ? "all is well" : event.role === "monitor" ? "needs a look" : "not ready", problems.length === 0 ? "good" : "bad");
    showProblems(problems);
    show("flow", flowOf(all, event, lagsOf(event)));
    if (event.latency) byId("latency").querySelector("p").textContent = "The slowest of each second, logarithmic.";
    else byId("latency").querySelector("p").textContent = "99 % of each second's were faster, to the next power of two; logarithmic.";
    addLatency(event);
    addRates(all, event);
    show("memory", memoryOf(all));
    show("tables", tablesOf(all));
    show("queues", listsOf(all, QUEUES));
    show("days", listsOf(all, DAYS));
    show("process", processOf(event));
    document.body.dataset.events = ++events;
  }
  function listen() {
    const source = new EventSource("/events");
    source.onmessage = (message) => take(JSON.parse(message.data));
    source.addEventListener("silent", (message) => {
      shownAt = Date.now();
      setState("not responding: " + message.data, "bad");
    });
    source.onerror = () => {
      setState("not connected; trying again", "bad");
      // The browser tries again by itself, except after a refusal.
      if (source.readyState === EventSource.CLOSED) fetch("/metrics").then(waitAfterRefusal, () => setTimeout(listen, 5000));
    };
  }
  // Events need the right that /metrics needs, and only the answer of /metrics tells a script why it was refused.
  function waitAfterRefusal(metrics) {
    if (metrics.status === 403) setState("this user has no right to see it (metrics)", "bad");
    setTimeout(listen, metrics.status === 403 ? 60000 : 5000);
  }
  setInterval(() => {
    if (shownAt > 0 && Date.now() - shownAt > STALE_MS) setState("no news since " + clockText(shownAt), "bad");
  }, 1000);
  listen();
})();
