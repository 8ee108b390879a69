"use strict";

/* The page: selection of a world, the table of worlds, and the two charts over all worlds. */
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  data.repeated = data.worlds.some((world) =>
    world.ended.some(([planner], i) => world.ended.findIndex(([other]) => other === planner) !== i));

  const body = document.querySelector("#matrix tbody");
  const rows = [...body.rows];
  let shown = rows.map((row) => Number(row.dataset.at));
  let current = null;
  let left = 0; // scroll position of the overview

  /* --- the table of worlds --------------------------------------------------------------------- */

  /* The share of valid trials that reached the goal, by planner; NaN without valid trials. */
  function shares(world) {
    return data.planners.map((_, planner) => {
      const own = world.ended.filter(([who, how]) => who === planner && data.outcomes[how].valid);
      return own.filter(([, how]) => data.outcomes[how].success).length / own.length;
    });
  }
  for (const world of data.worlds) world.shares = shares(world);

  const valid = (world) => world.shares.filter((share) => !Number.isNaN(share));
  const reaching = (world) => world.shares.map((share, planner) => (share > 0 ? planner : -1))
    .filter((planner) => planner >= 0);
  const FILTERS = {
    differ: (world) => new Set(valid(world)).size > 1,
    one: (world) => reaching(world).length === 1 && valid(world).length > 1,
    nobody: (world) => valid(world).length > 0 && reaching(world).length === 0,
    crash: (world) => world.ended.some(([, how]) => data.outcomes[how].crash),
    invalid: (world) => world.ended.some(([, how]) => !data.outcomes[how].valid),
  };

  function passes(world) {
    const words = byId("find").value.trim().toLowerCase();
    if (words && !world.name.toLowerCase().includes(words)) return false;
    const [kind, planner, side] = byId("filter").value.split(" ");
    if (!kind) return true;
    if (kind === "won") return data.pairs[planner].won[side].includes(data.worlds.indexOf(world));
    if (kind === "only") {
      return reaching(world).length === 1 && reaching(world)[0] === Number(planner) && valid(world).length > 1;
    }
    return FILTERS[kind](world);
  }

  function choose() {
    shown = [];
    for (const row of body.rows) {
      const at = Number(row.dataset.at);
      row.hidden = !passes(data.worlds[at]);
      if (!row.hidden) shown.push(at);
    }
    const all = data.worlds.length;
    byId("shown").textContent = shown.length === all ? `${all} worlds` : `${shown.length} of ${all} worlds`;
  }

  function key(what) {
    const [kind, index] = what.split(" ");
    if (kind === "planner") {
      return (world) => world.ended.filter(([who]) => who === Number(index))
        .map(([, how]) => how).sort().join(",");
    }
    if (kind === "figure") return (world) => world.figures[Number(index)];
    return (world) => world.name;
  }

  function compare(a, b) {
    if (a === null || b === null) return (a === null) - (b === null);
    return typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true });
  }

  function sort(button) {
    const header = button.closest("th");
    const down = header.getAttribute("aria-sort") === "ascending";
    document.querySelectorAll("#matrix thead th").forEach((one) => one.removeAttribute("aria-sort"));
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    const of = key(button.dataset.sort);
    const keyed = rows.map((row) => [of(data.worlds[Number(row.dataset.at)]), Number(row.dataset.at), row]);
    keyed.sort((a, b) => (down ? compare(b[0], a[0]) : compare(a[0], b[0])) || a[1] - b[1]);
    body.append(...keyed.map(([, , row]) => row));
    choose();
  }

  /* --- the shown world is part of the address, so the browser's back and forward work ------------ */

  function route() {
    const found = /^#w(\d+)(?:p(\d+))?$/.exec(location.hash);
    const world = found && Number(found[1]) < data.worlds.length ? Number(found[1]) : null;
    const was = current;
    current = world;
    byId("overview").hidden = world !== null;
    byId("world").hidden = world === null;
    document.querySelector("header").hidden = world !== null;
    if (world === null) {
      World.pause();
      overview();
      if (was !== null) {
        scrollTo(0, left);
        const link = document.querySelector(`#matrix tr[data-at="${was}"] a`);
        if (link && location.hash === "#worlds") link.focus({ preventScroll: left > 0 });
      }
      const target = was === null || left > 0 ? null : document.getElementById(location.hash.slice(1));
      if (target) target.scrollIntoView();
      return;
    }
    const place = shown.indexOf(world);
    byId("place").textContent = place < 0 ? "" : `${place + 1} of ${shown.length}`
      + (shown.length < data.worlds.length ? " chosen" : "");
    byId("before").disabled = place <= 0;
    byId("after").disabled = place < 0 || place >= shown.length - 1;
    World.show(data, world, found[2] === undefined ? -1 : Number(found[2]));
    scrollTo(0, 0);
    if (was === null) byId("world").focus({ preventScroll: true });
  }

  function go(step) {
    const next = shown[shown.indexOf(current) + step];
    if (current !== null && next !== undefined) location.hash = `#w${next}`;
  }

  function pressed(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const writes = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (current === null) {
      if (event.key === "/" && !writes) { event.preventDefault(); byId("find").focus(); }
      return;
    }
    if (event.key === "Escape") { location.hash = "#worlds"; return; }
    if (writes && event.target.type !== "checkbox") return;
    if (event.key === "ArrowLeft") go(-1);
    else if (event.key === "ArrowRight") go(1);
    else if (event.key === " " && !writes && event.target.tagName !== "BUTTON") World.play();
    else return;
    event.preventDefault();
  }

  /* --- charts over all worlds ------------------------------------------------------------------ */

  function fillMetrics() {
    const pair = data.pairs[Number(byId("pair").value)];
    const before = byId("metric").selectedIndex;
    byId("metric").replaceChildren(...pair.metrics.map((one, index) =>
      World.element("option", { value: String(index) }, data.metrics[one.metric].label)));
    byId("metric").selectedIndex = Math.max(before, 0);
  }

  /* Each world a point, ordered by the difference; the mean or median as a line in its interval. */
  function differences() {
    const holder = byId("difference-chart");
    if (!data.pairs.length) return;
    const pair = data.pairs[Number(byId("pair").value)];
    const one = pair.metrics[Number(byId("metric").value)];
    const note = byId("difference-note");
    if (!one || !one.worlds.length) {
      Charts.hide(holder);
      note.textContent = "No world in which both have this number.";
      return;
    }
    const metric = data.metrics[one.metric];
    const ordered = one.worlds.map((world, i) => [one.differences[i] * metric.factor, world])
      .sort((a, b) => a[0] - b[0]);
    const [center, low, high] = one.estimate.map((value) => (value === null ? null : value * metric.factor));
    const unit = metric.unit ? ` ${metric.unit}` : "";
    const said = (value) => `${value.toFixed(metric.decimals)}${unit}`;
    const usual = `${pair.first} minus ${pair.second}, ${metric.label}: each point a world (a click opens it). Line: ${one.statistic}`
      + `${center === null ? "" : ` ${said(center)}`}; `
      + `${low === null ? `no 95 % interval: ${one.unbounded}` : "band: its 95 % interval"}. Below 0: lower for ${pair.first}`
      + `${metric.better === "neither" ? "" : `, which is ${metric.better === "lower" ? "better" : "worse"}`}.`;
    note.textContent = usual;
    let hovered = null;
    Charts.show(holder, 260, usual, () => ({
      data: [ordered.map((_, i) => i + 1), ordered.map(([value]) => value)],
      scales: { x: { time: false, range: () => [0, ordered.length + 1] },
        y: { range: (_, least, most) => uPlot.rangeNum(Math.min(least, 0), Math.max(most, 0), 0.1, true) } },
      axes: [Charts.axis("worlds, in order of their difference", 24), Charts.axis(metric.unit, 52)],
      cursor: { drag: { x: false, y: false }, y: false, points: { size: 9 } },
      series: [{}, { stroke: "transparent", paths: () => null,
        points: { show: true, size: ordered.length > 200 ? 5 : 8, width: 0, fill: Charts.css("--accent"), stroke: Charts.css("--accent") } }],
      hooks: {
        drawAxes: [(chart) => {
          const { left: x, top, width, height } = chart.bbox;
          const ctx = chart.ctx;
          const y = (value) => chart.valToPos(value, "y", true);
          ctx.save();
          ctx.beginPath();
          ctx.rect(x, top, width, height);
          ctx.clip();
          if (low !== null && high !== null) {
            ctx.fillStyle = Charts.faded(Charts.css("--accent"), 0.2);
            ctx.fillRect(x, y(high), width, y(low) - y(high));
          }
          for (const [value, stroke] of [[0, Charts.css("--fore")], [center, Charts.css("--accent")]]) {
            if (value === null) continue;
            ctx.strokeStyle = stroke;
            ctx.lineWidth = value === center && value !== 0 ? 2.5 : 1;
            ctx.beginPath();
            ctx.moveTo(x, y(value));
            ctx.lineTo(x + width, y(value));
            ctx.stroke();
          }
          ctx.restore();
        }],
        setCursor: [(chart) => {
          hovered = chart.cursor.idx == null || chart.cursor.left < 0 ? null : ordered[chart.cursor.idx];
          note.textContent = hovered ? `${data.worlds[hovered[1]].name}: ${said(hovered[0])}` : usual;
        }],
        ready: [(chart) => chart.over.addEventListener("click", () => {
          if (hovered) location.hash = `#w${hovered[1]}`;
        })],
      },
    }));
  }

  function difficulty() {
    const index = Number(byId("figure").value);
    const figure = data.figures[index];
    const fitted = figure.curves.map((curve, planner) => [curve, planner]).filter(([curve]) => curve);
    const holder = byId("difficulty-chart");
    const legend = byId("difficulty-legend");
    legend.replaceChildren(...fitted.map(([, planner]) => {
      const line = World.element("span");
      line.append(World.element("span", { class: `mark p${planner % 7}` }), data.planners[planner]);
      return line;
    }));
    if (!fitted.length) {
      Charts.hide(holder);
      legend.textContent = "Too few worlds, or all are alike: nothing to fit.";
      return;
    }
    const ticks = data.worlds.flatMap((world) => world.figures[index] === null ? [] : world.ended
      .filter(([, how]) => data.outcomes[how].valid)
      .map(([planner, how]) => [world.figures[index] * figure.factor, planner, data.outcomes[how].success]));
    Charts.show(holder, 280, `Share of trials that reached the goal against ${figure.heading}`, () => ({
      data: [fitted[0][0].x.map((x) => x * figure.factor),
        ...fitted.flatMap(([curve]) => [curve.rate, curve.high, curve.low].map((v) => v.map((p) => 100 * p)))],
      scales: { x: { time: false }, y: { range: () => [-12, 112] } },
      axes: [Charts.axis(figure.heading + (figure.unit ? ` (${figure.unit})` : ""), 26),
        { ...Charts.axis("reached (%)", 44), splits: () => [0, 25, 50, 75, 100] }],
      cursor: { show: false },
      series: [{}, ...fitted.flatMap(([, planner]) => [
        { stroke: Charts.color(planner), width: 2, dash: Charts.dash(planner), points: { show: false } },
        { stroke: "transparent", points: { show: false } },
        { stroke: "transparent", points: { show: false } },
      ])],
      bands: fitted.map(([, planner], k) => ({
        series: [3 * k + 2, 3 * k + 3], fill: Charts.faded(Charts.color(planner), 0.16),
      })),
      hooks: {
        draw: [(chart) => {
          const ctx = chart.ctx, ratio = devicePixelRatio || 1;
          ctx.save();
          ctx.lineWidth = 1.4 * ratio;
          for (const [x, planner, reached] of ticks) {
            ctx.strokeStyle = Charts.faded(Charts.color(planner), 0.7);
            const y = chart.valToPos(reached ? 102.5 : -2.5, "y", true);
            const shift = ((planner % 7) + 0.15) * (reached ? -1 : 1) * 5 * ratio;
            const px = chart.valToPos(x, "x", true);
            ctx.beginPath();
            ctx.moveTo(px, y + shift);
            ctx.lineTo(px, y + shift + (reached ? -4 : 4) * ratio);
            ctx.stroke();
          }
          ctx.restore();
        }],
      },
    }));
  }

  let overviewDrawn = false;
  function overview() {
    if (overviewDrawn) return;
    overviewDrawn = true;
    if (data.pairs.length) { fillMetrics(); differences(); }
    if (data.figures.length) difficulty();
  }

  /* --- a served page updates itself ------------------------------------------------------------ */

  /* Reloads the overview when there are new results; on the view of a world, only shows a notice. */
  async function follow() {
    let known = null;
    const ask = async () => {
      try {
        const answer = await fetch("version", { cache: "no-store" });
        const version = answer.ok ? await answer.text() : null;
        if (version !== null && known !== null && version !== known) {
          const selected = byId("find").value || byId("filter").value
            || document.querySelector("#campaign-map input:not(:checked)");
          if (current === null && !selected) { location.reload(); return; }
          byId("news").textContent = "There is more by now: reload the page to see it.";
        }
        known = known === null ? version : known;
        if (version !== null && byId("news").dataset.lost) byId("news").textContent = "";
      } catch {
        byId("news").dataset.lost = "yes";
        byId("news").textContent = "The server does not answer; this is what was last known.";
      }
      setTimeout(ask, 10000); // heartbeats change the store every 5 s
    };
    ask();
  }
  if (data.live && location.protocol.startsWith("http")) follow();

  World.start();
  byId("find").addEventListener("input", choose);
  byId("filter").addEventListener("change", choose);
  byId("choose").addEventListener("submit", (event) => {
    event.preventDefault();
    if (shown.length === 1) location.hash = `#w${shown[0]}`;
  });
  document.querySelectorAll("#matrix thead button").forEach((button) =>
    button.addEventListener("click", () => sort(button)));
  byId("before").addEventListener("click", () => go(-1));
  byId("after").addEventListener("click", () => go(1));
  if (data.pairs.length) {
    byId("pair").addEventListener("change", () => { fillMetrics(); differences(); });
    byId("metric").addEventListener("change", differences);
  }
  if (data.figures.length) byId("figure").addEventListener("change", difficulty);
  document.addEventListener("click", (event) => {
    if (current === null && event.target.closest('a[href^="#w"]')) left = scrollY;
  });
  document.querySelectorAll("a[data-filter]").forEach((link) => link.addEventListener("click", () => {
    byId("find").value = "";
    byId("filter").value = link.dataset.filter;
    choose();
  }));
  addEventListener("hashchange", route);
  addEventListener("keydown", pressed);
  choose();
  route();
  document.documentElement.dataset.ready = "yes";
})();
