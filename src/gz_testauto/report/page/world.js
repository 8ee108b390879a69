"use strict";

/* One world: the map with all trajectories, the charts next to it, and the time that both show.
   Text from the results is inserted as text, never as HTML. */
const World = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const byId = (id) => document.getElementById(id);
  const SERIES = ["clearance", "speed", "yaw_rate"];
  const STEP_S = 0.05;
  const LOCAL_PLAN_S = 2; // a local plan without a newer one is drawn for this time

  let data = null; // data of all worlds
  let drives = []; // decoded trials of this world, with their drawn elements
  let end = 0;
  let now = 0;
  let playing = 0;
  let charts = [];
  let grid = [];
  let view = null;
  let home = null;
  let settingCursor = false;

  function element(name, attributes = {}, text = null, kind = null) {
    const made = kind ? document.createElementNS(kind, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== null) made.textContent = text;
    return made;
  }
  const drawn = (name, attributes, text = null) => element(name, attributes, text, SVG);

  function decoded(list) {
    const values = new Float64Array(list.length);
    let sum = 0;
    for (let i = 0; i < list.length; i++) { sum += list[i]; values[i] = sum / 1000; }
    return values;
  }

  /* The value at a time between samples; null outside of them. */
  function at(times, values, time) {
    const n = times.length;
    if (!n || time < times[0] - 1e-9 || time > times[n - 1] + 1e-9) return null;
    let low = 0, high = n - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (times[middle] <= time) low = middle; else high = middle;
    }
    const span = times[high] - times[low];
    const share = span > 0 ? Math.min(Math.max((time - times[low]) / span, 0), 1) : 0;
    return values[low] + share * (values[high] - values[low]);
  }

  function read(trial) {
    const drive = { ...trial, shown: true, has: Array.isArray(trial.path) && trial.path[0].length > 0 };
    if (!drive.has) return drive;
    drive.path = trial.path.map(decoded);
    drive.objects = (trial.objects || []).map((one) => ({ ...one, path: one.path.map(decoded) }));
    drive.tf = trial.tf ? trial.tf.map(decoded) : null;
    drive.plans = Object.entries(trial.plans || {}).map(([kind, [times, counts, xs, ys]]) => (
      { kind, times: decoded(times), counts, xs: decoded(xs), ys: decoded(ys) }));
    for (const name of SERIES) drive[name] = (trial[name] || [[], []]).map(decoded);
    drive.end = trial.end_ms / 1000;
    return drive;
  }

  const label = (drive) => data.planners[drive.planner]
    + (data.repeated ? ` #${drive.repetition}` : "");

  function shellQuoted(text) {
    return /^[\w@%+=:,.\/-]+$/.test(text) ? text : `'${text.replace(/'/g, `'"'"'`)}'`;
  }

  function replayCommand(world, drive) {
    const { start, planner, worlds } = data.replay[drive.planner];
    const words = [shellQuoted(worlds[world.name] || world.name), shellQuoted(planner)];
    if (drive.repetition) words.push("--repetition", String(drive.repetition));
    return `${start} ${words.join(" ")}`;
  }

  /* --- the table of trials --------------------------------------------------------------------- */

  function number(value, metric) {
    return value === null ? "–" : (value * metric.factor).toFixed(metric.decimals);
  }

  function fillTable(world, chosen) {
    const metrics = data.metrics.map((metric, index) => [metric, index])
      .filter(([metric, index]) => metric.table && drives.some((d) => d.metrics[index] !== null));
    const table = byId("trials");
    const head = element("tr");
    const titles = ["planner", "ended", "how", "clearance now (m)", "speed now (m/s)", "yaw rate now (rad/s)"];
    titles.forEach((text) => head.append(element("th", { scope: "col", class: text.length < 6 ? "text" : "" }, text)));
    for (const [metric] of metrics) {
      head.append(element("th", { scope: "col" }, metric.label + (metric.unit ? ` (${metric.unit})` : "")));
    }
    const body = element("tbody");
    for (const drive of drives) {
      const ended = data.outcomes[drive.outcome];
      const row = element("tr", drive.planner === chosen ? { class: "chosen" } : {});
      const name = element("th", { scope: "row" });
      const box = element("input", { type: "checkbox", id: `show-${drive.trial}` });
      box.checked = drive.shown;
      box.disabled = !drive.has;
      box.addEventListener("change", () => { drive.shown = box.checked; showDrives(); });
      const words = element("label", { for: `show-${drive.trial}` });
      words.append(" ", element("span", { class: `mark p${drive.planner % 7}`, "aria-hidden": "true" }),
        label(drive));
      name.append(box, words);
      row.append(name);
      row.append(element("td", { class: `text cell ${ended.kind}` }, ended.text));
      const how = element("td", { class: "text long" }, drive.problem || drive.detail);
      for (const [name, path] of Object.entries(drive.files || {})) how.append(" ", element("a", { href: path }, name));
      row.append(how);
      drive.cells = SERIES.map(() => element("td", { class: "now" }, "–"));
      row.append(...drive.cells);
      for (const [metric, index] of metrics) {
        row.append(element("td", {}, number(drive.metrics[index], metric)));
      }
      body.append(row);
    }
    const top = element("thead");
    top.append(head);
    table.replaceChildren(top, body);
  }

  /* --- the map --------------------------------------------------------------------------------- */

  function box(points) {
    const bounds = [Infinity, Infinity, -Infinity, -Infinity];
    for (const [x, y] of points) {
      bounds[0] = Math.min(bounds[0], x); bounds[1] = Math.min(bounds[1], y);
      bounds[2] = Math.max(bounds[2], x); bounds[3] = Math.max(bounds[3], y);
    }
    return bounds[0] <= bounds[2] ? bounds : [-5, -5, 5, 5];
  }

  function obstaclePath(placed) {
    const parts = [];
    for (let i = 0; i < placed.length; i += 3) {
      const shape = data.shapes[placed[i]], x = placed[i + 1] / 1000, y = placed[i + 2] / 1000;
      if ("r" in shape) {
        const r = shape.r / 1000;
        parts.push(`M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`);
        continue;
      }
      for (const ring of shape.p) {
        let text = "M";
        for (let k = 0; k < ring.length; k += 2) {
          text += `${(x + ring[k] / 1000).toFixed(3)} ${(y + ring[k + 1] / 1000).toFixed(3)} `;
        }
        parts.push(`${text}z`);
      }
    }
    return parts.join("");
  }

  const outline = () => data.footprint || [...Array(16).keys()]
    .map((k) => [0.2 * Math.cos(k * Math.PI / 8), 0.2 * Math.sin(k * Math.PI / 8)]);
  const placedAt = (x, y, yaw) => `translate(${x.toFixed(4)} ${y.toFixed(4)}) rotate(${(yaw * 180 / Math.PI).toFixed(2)})`;

  function drawMap(block) {
    const points = [];
    for (const drive of drives.filter((one) => one.has)) {
      drive.path[1].forEach((x, i) => points.push([x, drive.path[2][i]]));
    }
    if (block.start) points.push(block.start);
    points.push(...(block.goals || []));
    const [x0, y0, x1, y1] = box(points);
    const margin = Math.max(1.5, 0.08 * Math.max(x1 - x0, y1 - y0));
    home = [x0 - margin, y0 - margin, x1 - x0 + 2 * margin, y1 - y0 + 2 * margin];

    const svg = drawn("svg", { role: "img", "aria-label": "Map with obstacles and the path of every planner" });
    const scene = drawn("g", { transform: "scale(1 -1)" });
    const lines = drawn("g", {});
    const labels = drawn("g", {});
    if (block.lanes) scene.append(drawn("path", { class: "lane", d: obstaclePath(block.lanes) }));
    scene.append(lines, drawn("path", { class: "obstacle", d: obstaclePath(block.placed) }));
    if (block.known) {
      scene.append(drawn("polyline", { class: "known", points: block.known.map((p) => p.join(",")).join(" ") }));
    }
    (block.goals || []).forEach(([x, y, r], i) => {
      const place = drawn("circle", { class: "place", cx: x, cy: y, r });
      if (block.goals.length > 1) place.append(drawn("title", {}, `Goal ${i + 1} of ${block.goals.length}`));
      scene.append(place, drawn("circle", { class: "goal-dot", cx: x, cy: y, r: 0.08 }));
    });
    if (block.start) {
      scene.append(drawn("rect", { class: "start-dot", x: -0.15, y: -0.15, width: 0.3, height: 0.3,
        transform: placedAt(...block.start) }));
    }
    const corners = outline().map((corner) => corner.join(" ")).join(" ");
    for (const drive of drives.filter((one) => one.has)) {
      const [, xs, ys, yaws] = drive.path;
      const last = xs.length - 1;
      const group = drawn("g", { class: `p${drive.planner % 7}` });
      let points = "";
      xs.forEach((x, i) => { points += `${x},${ys[i]} `; });
      const polyline = (kind, [px, py]) => drawn("polyline", { class: kind,
        points: Array.from(px, (x, i) => `${x},${py[i]}`).join(" ") });
      for (const plans of drive.plans) {
        plans.line = drawn("polyline", { class: `${plans.kind}-plan` });
        group.append(plans.line);
      }
      if (drive.tf) group.append(polyline("tf", drive.tf.slice(1)));
      drive.body = drawn("polygon", { class: "body", points: corners });
      group.append(
        drawn("polyline", { class: "path", points, "stroke-dasharray": Charts.dash(drive.planner).join(" ") }),
        drawn("polygon", { class: "final", points: corners, transform: placedAt(xs[last], ys[last], yaws[last]) }),
      );
      for (const [time, partner, speed, x, y] of drive.contacts) {
        const hit = drawn("path", { class: "hit", d: `M${x - 0.2} ${y - 0.2}l.4 .4m0 -.4l-.4 .4` });
        hit.append(drawn("title", {},
          `${label(drive)} touched ${partner} at ${(time / 1000).toFixed(2)} s, ${speed.toFixed(2)} m/s`));
        group.append(hit);
      }
      for (const object of drive.objects) {
        const around = object.outline.map((value, k) => (k % 2 ? `${value} ` : `${value},`)).join("");
        object.body = drawn("polygon", { class: "object", points: around });
        object.body.append(drawn("title", {}, `${object.name}, in the trial ${label(drive)}`));
        group.append(object.body);
      }
      group.append(drive.body);
      drive.group = group;
      scene.append(group);
    }
    svg.append(scene, labels);
    byId("map").replaceChildren(svg);
    view = { svg, lines, labels, box: null };
    look(home);
    movable(svg);
  }

  /* The legend of the map: only the lines and marks that the map contains. */
  function fillLegend(block) {
    const there = drives.filter((one) => one.has);
    const sample = (name, attributes, words, kind = "") => {
      const line = element("span", kind ? { class: kind } : {});
      const svg = drawn("svg", { viewBox: "0 0 36 18", "aria-hidden": "true" });
      svg.append(drawn(name, attributes));
      line.append(svg, words);
      return line;
    };
    const across = { x1: 1, y1: 9, x2: 35, y2: 9 };
    const frame = { x: 8, y: 3, width: 20, height: 12 };
    const entries = [...new Set(there.map((one) => one.planner))].map((planner) => sample("line",
      { class: "path", "stroke-dasharray": Charts.dash(planner).join(" "), ...across },
      data.planners[planner], `p${planner % 7}`));
    if (there.length) {
      entries.push(sample("rect", { class: "body", ...frame }, "robot at the time shown", `p${there[0].planner % 7}`),
        sample("rect", { class: "final", ...frame }, "last pose", `p${there[0].planner % 7}`));
    }
    const beside = there.find((one) => one.objects.length);
    if (beside) {
      entries.push(sample("rect", { class: "object", ...frame }, "moving object, in the trial of that color",
        `p${beside.planner % 7}`));
    }
    if (there.some((one) => one.contacts.length)) {
      entries.push(sample("path", { class: "hit", d: "M12 3l12 12m0 -12l-12 12" }, "collision", "p1"));
    }
    const stack = there.find((one) => one.tf);
    if (stack) entries.push(sample("line", { class: "tf", ...across }, "estimated position", `p${stack.planner % 7}`));
    for (const kind of ["global", "local"]) {
      const planned = there.find((one) => one.plans.some((plans) => plans.kind === kind));
      if (planned) {
        entries.push(sample("line", { class: `${kind}-plan`, ...across }, `${kind} plan at the time shown`,
          `p${planned.planner % 7}`));
      }
    }
    if (block.start) entries.push(sample("rect", { class: "start-dot", x: 13, y: 4, width: 10, height: 10 }, "start"));
    if (block.goals) entries.push(sample("circle", { class: "place", cx: 18, cy: 9, r: 8 }, "goal, reached within the circle"));
    if (block.lanes) entries.push(sample("rect", { class: "lane", x: 1, y: 3, width: 34, height: 12 }, "road"));
    if (block.known) entries.push(sample("line", { class: "known", ...across }, "path on the static map"));
    if (block.omitted) {
      entries.push(element("span", {}, "The obstacles and paths of this world are not on this page; "
        + "gz_testauto report DIR --html FILE draws all worlds."));
    }
    byId("map-legend").replaceChildren(...entries);
  }

  function look(target) {
    const [x, y, width, height] = target;
    view.box = target;
    view.svg.setAttribute("viewBox", `${x} ${-(y + height)} ${width} ${height}`);
    drawGrid();
  }

  /* Lines every 1, 2 or 5 × 10ⁿ m, with their coordinates. */
  function drawGrid() {
    const size = view.svg.getBoundingClientRect();
    if (!size.width) return;
    const [x, y, width, height] = view.box;
    const scale = Math.min(size.width / width, size.height / height); // pixels per meter
    const wide = size.width / scale, high = size.height / scale;
    const left = x + width / 2 - wide / 2, low = y + height / 2 - high / 2;
    const rough = 70 / scale, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= rough);
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    view.lines.replaceChildren();
    view.labels.replaceChildren();
    const text = (value, px, py, kind = "") => {
      const made = drawn("text", { transform: `translate(${px} ${py}) scale(${1 / scale})`, class: kind }, value);
      view.labels.append(made);
    };
    text("x (m)", left + wide - 4 / scale, -(low + 20 / scale), "axis x");
    text("y (m)", left + 4 / scale, -(low + high - 14 / scale), "axis");
    for (let k = Math.ceil(left / step); k * step < left + wide; k++) {
      view.lines.append(drawn("line", { class: "grid", x1: k * step, x2: k * step, y1: low, y2: low + high }));
      const px = k * step + 3 / scale;
      if (px > left + 40 / scale) text((k * step).toFixed(digits), px, -(low + 5 / scale));
    }
    for (let k = Math.ceil(low / step); k * step < low + high; k++) {
      view.lines.append(drawn("line", { class: "grid", y1: k * step, y2: k * step, x1: left, x2: left + wide }));
      const py = k * step + 3 / scale;
      if (py < low + high - 30 / scale) text((k * step).toFixed(digits), left + 4 / scale, -py);
    }
  }

  function zoom(factor, center = null) {
    const [x, y, width, height] = view.box;
    const [cx, cy] = center || [x + width / 2, y + height / 2];
    look([cx - (cx - x) * factor, cy - (cy - y) * factor, width * factor, height * factor]);
  }

  function toEnds() {
    const shown = drives.filter((one) => one.has && one.shown);
    const lost = shown.filter((one) => !data.outcomes[one.outcome].success);
    const ends = (lost.length ? lost : shown).map((one) => [one.path[1].at(-1), one.path[2].at(-1)]);
    if (!ends.length) return;
    const [x0, y0, x1, y1] = box(ends);
    const side = Math.max(x1 - x0, y1 - y0, 1) + 4;
    look([(x0 + x1 - side) / 2, (y0 + y1 - side) / 2, side, side]);
  }

  function movable(svg) {
    const meters = (event) => {
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      return [point.x, -point.y];
    };
    let grabbed = null;
    svg.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.shiftKey) return; // else the page scrolls
      event.preventDefault();
      zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, meters(event));
    }, { passive: false });
    svg.addEventListener("pointerdown", (event) => {
      grabbed = meters(event);
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", (event) => {
      if (!grabbed) return;
      const [x, y] = meters(event);
      const [left, low, width, height] = view.box;
      look([left + grabbed[0] - x, low + grabbed[1] - y, width, height]);
    });
    for (const over of ["pointerup", "pointercancel"]) {
      svg.addEventListener(over, () => { grabbed = null; });
    }
    svg.addEventListener("dblclick", (event) => zoom(0.5, meters(event)));
  }

  /* --- the charts ------------------------------------------------------------------------------ */

  function drawCharts() {
    grid = Array.from({ length: Math.floor(end / STEP_S + 1e-6) + 1 }, (_, k) => k * STEP_S);
    charts = SERIES.map((name) => Charts.show(byId(`chart-${name}`), name === "clearance" ? 205 : 180,
      `${name.replace("_", " ")} over time, one line per drive`, () => {
        const shown = drives.filter((one) => one.has && one.shown);
        return {
          data: [grid, ...shown.map((one) => grid.map((time) => at(...one[name], time)))],
          scales: { x: { time: false } },
          axes: [Charts.axis("time (s)", 24), Charts.axis("", 48)],
          cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
          series: [{}, ...shown.map((one) => ({
            stroke: Charts.color(one.planner), width: 1.6, dash: Charts.dash(one.planner), points: { show: false },
          }))],
          hooks: {
            setCursor: [(chart) => {
              if (!settingCursor && chart.cursor.idx != null && chart.cursor.left >= 0 && !playing) {
                setTime(grid[chart.cursor.idx], chart);
              }
            }],
            ready: [(chart) => putCursor(chart)],
          },
        };
      }));
  }

  function putCursor(chart) {
    settingCursor = true;
    chart.setCursor({ left: chart.valToPos(now, "x"), top: chart.over.clientHeight / 2 });
    settingCursor = false;
  }

  /* --- the time -------------------------------------------------------------------------------- */

  /* Draw the newest plan at a time. A local planner that publishes no plan has none. */
  function showPlan({ kind, times, counts, xs, ys, line }, time) {
    let first = 0, newest = -1;
    while (newest + 1 < times.length && times[newest + 1] <= time + 1e-6) {
      if (newest >= 0) first += counts[newest];
      newest += 1;
    }
    const old = newest < 0 || (kind === "local" && time - times[newest] > LOCAL_PLAN_S);
    line.toggleAttribute("hidden", old);
    if (old) return;
    const points = Array.from({ length: counts[newest] }, (_, k) => `${xs[first + k]},${ys[first + k]}`);
    line.setAttribute("points", points.join(" "));
  }

  function setTime(time, from = null) {
    now = Math.min(Math.max(time, 0), end);
    byId("time").value = now;
    byId("clock").textContent = `${now.toFixed(1)} s`;
    for (const drive of drives.filter((one) => one.has)) {
      const held = Math.min(now, drive.end);
      const [times, xs, ys, yaws] = drive.path;
      drive.body.setAttribute("transform", placedAt(at(times, xs, held), at(times, ys, held), at(times, yaws, held)));
      for (const { body, path } of drive.objects) {
        const [stamps, ...values] = path;
        const place = values.map((one) => at(stamps, one, held));
        body.toggleAttribute("hidden", place[0] === null);  // it was absent
        if (place[0] !== null) body.setAttribute("transform", placedAt(...place));
      }
      drive.plans.forEach((plans) => showPlan(plans, held));
      SERIES.forEach((name, index) => {
        const value = at(...drive[name], now);
        drive.cells[index].textContent = value === null ? "–" : value.toFixed(2);
      });
    }
    for (const { chart } of charts) {
      if (chart && chart !== from) putCursor(chart);
    }
  }

  function showDrives() {
    for (const drive of drives.filter((one) => one.has)) {
      drive.group.toggleAttribute("hidden", !drive.shown);
    }
    drawCharts();
  }

  function pause() {
    cancelAnimationFrame(playing);
    playing = 0;
    byId("play").textContent = "▶ play";
  }

  function play() {
    if (playing) { pause(); return; }
    if (now >= end - 1e-6) setTime(0);
    let last = null;
    const step = (stamp) => {
      if (last !== null) setTime(now + (stamp - last) / 1000 * Number(byId("speed").value));
      last = stamp;
      if (now >= end - 1e-6) pause(); else playing = requestAnimationFrame(step);
    };
    byId("play").textContent = "❚❚ pause";
    playing = requestAnimationFrame(step);
  }

  /* --- showing a world ------------------------------------------------------------------------- */

  function facts(world) {
    const found = data.figures.map((figure, index) => [figure, world.figures[index]])
      .filter(([, value]) => value !== null)
      .map(([figure, value]) => `${figure.heading} ${(value * figure.factor).toFixed(figure.decimals)} ${figure.unit}`.trim());
    return found.join("; ");
  }

  function replays(world) {
    const holder = byId("replays");
    holder.replaceChildren();
    const repeatable = drives.filter((drive) => data.replay[drive.planner]);
    if (!repeatable.length) return;
    holder.append(element("h2", {}, "Replay"));
    for (const drive of repeatable) {
      const line = element("p", {}, `${label(drive)}: `);
      line.append(element("code", { class: "command" }, replayCommand(world, drive)));
      holder.append(line);
    }
  }

  function show(all, index, chosen) {
    pause();
    data = all;
    const world = data.worlds[index];
    const block = JSON.parse(byId(`d${index}`).textContent);
    drives = block.trials.map(read);
    end = Math.max(0, ...drives.filter((one) => one.has).map((one) => one.end));
    byId("world-name").textContent = world.name;
    byId("world-facts").textContent = facts(world);
    byId("time").max = end;
    byId("drives").hidden = !drives.some((one) => one.has);
    fillTable(world, chosen);
    drawMap(block);
    fillLegend(block);
    charts = [];
    setTime(end);
    drawCharts();
    replays(world);
  }

  function start() {
    byId("play").addEventListener("click", play);
    byId("time").addEventListener("input", (event) => { pause(); setTime(Number(event.target.value)); });
    byId("closer").addEventListener("click", () => zoom(1 / 1.4));
    byId("farther").addEventListener("click", () => zoom(1.4));
    byId("whole").addEventListener("click", () => look(home));
    byId("ends").addEventListener("click", toEnds);
    new ResizeObserver(() => { if (view) drawGrid(); }).observe(byId("map"));
  }

  return { show, start, play, pause, element };
})();
