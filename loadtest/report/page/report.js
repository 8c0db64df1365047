"use strict";
// Draws the charts of a load test's report with uPlot. The numbers are in the element `data`; the figures
// are there already, empty, with labels for readers that do not see them.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const media = (query) => window.matchMedia(query);
  const HEIGHT = 260;
  const PRINT_WIDTH = 640;  // Fits A4 and Letter at their usual margins.
  const DASHES = [[], [7, 4], [2, 3]];
  const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";
  const LABELS_MAX = 6;  // More lines than that are told apart by the key alone.
  const LABEL_STEP = 14;
  const FAR = 12;
  const BANDS_MAX = 2;  // Down to the least of each slice; more of them only cover one another.

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const colourOf = (stack) => colour("c" + (stack.group % 6));
  const dashOf = (number) => DASHES[number % DASHES.length];

  function digits(value) {
    return String(Number(value.toPrecision(3)));
  }
  function timeText(ms) {
    const size = Math.abs(ms);
    if (size === 0) return "0";
    if (size < 1) return digits(ms * 1e3) + " us";
    if (size < 1e3) return digits(ms) + " ms";
    if (size < 12e4) return digits(ms / 1e3) + " s";
    return digits(ms / 6e4) + " min";
  }
  function bytesText(bytes) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let i = 0;
    while (Math.abs(bytes) >= 1000 && i + 1 < units.length) {
      bytes /= 1024;
      ++i;
    }
    return digits(bytes) + " " + units[i];
  }
  const secondsText = (s) => digits(s) + " s";
  const minutesText = (s) => digits(s / 60) + " min";
  // One unit for a whole axis.
  const clockText = (x) => (x[x.length - 1] >= 180 ? minutesText : secondsText);
  function partText(x) {
    if (x <= 1.01) return "0 %";
    const percent = 100 - 100 / x;
    return Number(percent.toFixed(Math.max(0, Math.ceil(Math.log10(x)) - 2 + 1))) + " %";
  }

  // A few steps of 1, 2, 5 per decade, as far as they fit.
  function logSplits(min, max, room) {
    const decades = Math.log10(max / min);
    const steps = decades * 3 < room ? [1, 2, 5] : [1];
    const splits = [];
    for (let e = Math.floor(Math.log10(min)); e <= Math.ceil(Math.log10(max)); ++e) {
      for (const step of steps) {
        const at = step * Math.pow(10, e);
        if (at >= min * 0.999 && at <= max * 1.001) splits.push(at);
      }
    }
    return splits;
  }

  // What each kind of figure shows: the x values, and series of {label, stack, dash, values, band}.
  const KINDS = {
    time(test, metric) {
      const x = Array.from({length: test.slices}, (_, i) => (i + 0.5) * test.slice_s);
      const series = [];
      for (const stack of test.stacks) {
        const one = stack.metrics[metric];
        if (one && one.most) {
          series.push({label: stack.name, stack, dash: dashOf(stack.nth), values: one.most, least: one.least});
        }
      }
      const line = metric.endsWith("_lag") ? test.batch_ms : null;
      return {x, series, xText: clockText(x), yText: timeText, xLabel: "time since the test began", line};
    },
    curve(test, metric) {
      const longest = Math.max(0, ...test.stacks.map((s) => (s.metrics[metric]?.curve || []).length));
      const x = Array.from({length: longest}, (_, k) => Math.pow(10, k / data.steps_per_decade));
      const series = [];
      for (const stack of test.stacks) {
        const curve = stack.metrics[metric]?.curve;
        if (!curve) continue;
        const values = x.map((_, k) => (k < curve.length ? curve[k] : null));
        series.push({label: stack.name, stack, dash: dashOf(stack.nth), values});
      }
      return {x, series, xText: partText, yText: timeText, xLabel: "part of all values (log axis)", logX: true,
        line: metric.endsWith("_lag") ? test.batch_ms : null};
    },
    tiers(test) {
      const x = Array.from({length: test.slices}, (_, i) => (i + 0.5) * test.slice_s);
      const series = [];
      for (const stack of test.stacks) {
        Object.keys(stack.tiers).forEach((tier, i) => {
          const values = stack.tiers[tier];
          if (values.some((v) => v > 0)) {
            series.push({label: stack.name + "/" + tier, stack, dash: dashOf(i), values: x.map((_, k) => values[k] ?? null)});
          }
        });
      }
      return {x, series, xText: clockText(x), yText: bytesText, xLabel: "time since the test began", binary: true, line: null};
    },
  };

  // The least and the most of what is drawn, and whether it takes a logarithmic axis to see all of it: where
  // a value is far from the usual one, or one line far from another. null if there is nothing to draw.
  function extent(shown) {
    const all = [], tops = [];
    for (const one of shown.series) {
      const positive = one.values.concat(one.least || []).filter((v) => v > 0);
      if (positive.length === 0) continue;
      tops.push(positive.reduce((a, b) => Math.max(a, b)));
      for (const v of positive) all.push(v);
    }
    if (all.length === 0) return null;
    all.sort((a, b) => a - b);
    const top = all[all.length - 1];
    const far = top > FAR * all[all.length >> 1] || top > FAR * Math.min(...tops);
    return {min: all[0], max: Math.max(top, shown.line || 0), far};
  }

  // Labels at the ends of the lines, moved apart where they would overlap.
  function endLabels(u, shown, width) {
    if (shown.series.length > LABELS_MAX) return;
    const ratio = devicePixelRatio;
    const ctx = u.ctx;
    ctx.save();
    ctx.font = FONT.replace("12px", 12 * ratio + "px");
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    const labels = [];
    shown.series.forEach((one) => {
      let last = one.values.length - 1;
      while (last >= 0 && (one.values[last] === null || (shown.logY && one.values[last] <= 0))) --last;
      if (last < 0) return;
      labels.push({one, y: u.valToPos(one.values[last], "y", true)});
    });
    labels.sort((a, b) => a.y - b.y);
    const step = LABEL_STEP * ratio;
    const top = u.bbox.top + step / 2, bottom = u.bbox.top + u.bbox.height - step / 2;
    for (let i = 0; i < labels.length; ++i) {
      labels[i].y = Math.max(labels[i].y, i ? labels[i - 1].y + step : top);
    }
    for (let i = labels.length - 1; i >= 0; --i) {
      labels[i].y = Math.min(labels[i].y, i + 1 < labels.length ? labels[i + 1].y - step : bottom);
    }
    for (const label of labels) {
      ctx.fillStyle = colourOf(label.one.stack);
      ctx.fillText(shorten(label.one.label, width), u.bbox.left + u.bbox.width + 6 * ratio, label.y);
    }
    ctx.restore();
  }

  const measure = document.createElement("canvas").getContext("2d");
  function widthOf(text) {
    measure.font = FONT;
    return measure.measureText(text).width;
  }
  function shorten(text, width) {
    if (widthOf(text) <= width) return text;
    let kept = text.length;
    while (kept > 3 && widthOf(text.slice(0, kept) + "\u2026") > width) --kept;
    return text.slice(0, kept) + "\u2026";
  }

  // The tickerplant's timer, which the figure's heading names: nothing can be fresher at its worst.
  function timerLine(u, shown) {
    if (!shown.line) return;
    const ratio = devicePixelRatio;
    const y = u.valToPos(shown.line, "y", true);
    const ctx = u.ctx;
    ctx.save();
    ctx.strokeStyle = colour("quiet");
    ctx.lineWidth = ratio;
    ctx.setLineDash([2 * ratio, 3 * ratio]);
    ctx.beginPath();
    ctx.moveTo(u.bbox.left, y);
    ctx.lineTo(u.bbox.left + u.bbox.width, y);
    ctx.stroke();
    ctx.restore();
  }

  function build(figure) {
    const test = data.tests[Number(figure.dataset.test)];
    const kind = figure.dataset.kind;
    const select = figure.querySelector("select");
    const metric = select ? select.value : figure.dataset.metrics;
    const plot = figure.querySelector(".plot");
    const shown = KINDS[kind](test, metric);
    if (figure.chart) figure.chart.destroy();
    figure.chart = null;
    plot.replaceChildren();
    if (shown.series.length > BANDS_MAX) for (const one of shown.series) delete one.least;
    const values = extent(shown);
    if (shown.series.length === 0 || values === null) {
      const note = document.createElement("p");
      note.className = "missing";
      note.textContent = "not measured";
      plot.append(note);
      return;
    }
    const printing = media("print").matches;
    const width = printing ? PRINT_WIDTH : Math.max(220, plot.clientWidth);
    shown.logY = !shown.binary && values.far;
    const labelled = shown.series.length <= LABELS_MAX;
    const labelWidth = Math.min(width * 0.3, Math.max(...shown.series.map((s) => widthOf(s.label))) + 2);
    const ink = colour("ink"), line = colour("line");

    const series = [{}], columns = [shown.x], bands = [];
    for (const one of shown.series) {
      const clean = (v) => (v === null || (shown.logY && v <= 0) ? null : v);
      series.push({
        label: one.label, stroke: colourOf(one.stack), width: 1.75, dash: one.dash, spanGaps: true,
        points: {show: one.values.filter((v) => v !== null).length < 3},
      });
      columns.push(one.values.map(clean));
      if (one.least) {
        series.push({stroke: "transparent", width: 0, spanGaps: true, points: {show: false}});
        columns.push(one.least.map(clean));
        bands.push({series: [series.length - 2, series.length - 1], fill: colourOf(one.stack) + "1f"});
      }
    }
    const axis = {stroke: ink, font: FONT, labelFont: FONT, labelSize: 18, grid: {stroke: line, width: 1}, ticks: {stroke: line, width: 1, size: 4}, gap: 4};
    const yRange = shown.logY
      ? [Math.max(values.min * 0.8, values.max / 1e7), values.max * 1.25]
      : [0, values.max * 1.12];
    const xMax = shown.x[shown.x.length - 1];
    const minutes = shown.xText === minutesText;
    const options = {
      width, height: HEIGHT, padding: [10, labelled ? labelWidth + 10 : 12, 0, 0],
      legend: {show: false},
      cursor: {y: false, drag: {x: false, y: false}, points: {show: true, size: 6}},
      scales: {
        x: {time: false, distr: shown.logX ? 3 : 1, range: () => (shown.logX ? [1, Math.max(xMax, 10)] : [0, xMax + test.slice_s / 2])},
        y: {distr: shown.logY ? 3 : 1, range: () => yRange},
      },
      axes: [
        Object.assign({}, axis, {
          label: shown.xLabel, size: 26, space: 55,
          values: (u, splits) => splits.map(shown.xText),
          ...(shown.logX ? {filter: (u, splits) => splits, splits: () => (width < 480 ? [1] : [1, 2]).concat(logSplits(10, xMax, 0))} : {}),
          ...(minutes ? {incrs: [60, 120, 300, 600, 900, 1800, 3600, 7200]} : {}),
        }),
        Object.assign({}, axis, {
          size: (u, texts) => Math.max(40, ...(texts || []).map((t) => widthOf(t || "") + 12)),
          values: (u, splits) => splits.map(shown.yText),
          ...(shown.logY ? {filter: (u, splits) => splits, splits: () => logSplits(yRange[0], yRange[1], 9)} : {}),
          ...(shown.binary ? {incrs: Array.from({length: 50}, (_, i) => Math.pow(2, i))} : {}),
        }),
      ],
      series, bands,
      hooks: {
        draw: [(u) => timerLine(u, shown), (u) => labelled && endLabels(u, shown, labelWidth)],
        setCursor: [(u) => readout(figure, u, shown)],
      },
    };
    figure.chart = new uPlot(options, columns, plot);
    figure.dataset.drawn = shown.series.length;
  }

  function readout(figure, u, shown) {
    const out = figure.querySelector("output");
    const i = u.cursor.idx;
    if (!out) return;
    if (i === null || i === undefined) {
      out.textContent = "";
      return;
    }
    const parts = shown.series.map((one) => one.label + " " + (one.values[i] === null ? "n/a" : shown.yText(one.values[i])));
    out.textContent = shown.xText(shown.x[i]) + ": " + parts.join(", ");
  }

  const figures = Array.from(document.querySelectorAll("figure.chart"));
  for (const figure of figures) {
    const metrics = figure.dataset.metrics.split(" ").filter(Boolean);
    if (metrics.length > 1) {
      const select = document.createElement("select");
      select.setAttribute("aria-label", "What the chart shows");
      for (const metric of metrics) select.add(new Option(data.titles[metric], metric));
      select.addEventListener("change", () => build(figure));
      figure.querySelector("figcaption").append(select);
    }
    figure.append(document.createElement("output"));
  }

  // On paper nothing can be unfolded.
  const folded = Array.from(document.querySelectorAll("details.full"));
  function buildAll() {
    if (media("print").matches) for (const details of folded) details.open = true;
    figures.forEach(build);
  }
  buildAll();
  media("(prefers-color-scheme: dark)").addEventListener("change", buildAll);
  media("print").addEventListener("change", buildAll);
  let width = document.documentElement.clientWidth;
  window.addEventListener("resize", () => {
    if (document.documentElement.clientWidth === width) return;  // A phone's bars that come and go.
    width = document.documentElement.clientWidth;
    buildAll();
  });
})();
