"use strict";

/* Charts by uPlot in the page's colors: axes, size, and colors on screen and on paper. The
   callers provide the series. */
const Charts = (() => {
  const DASHES = [[], [9, 4], [3, 3], [10, 3, 3, 3], [6, 2], [2, 4], [14, 4]];
  const drawn = new Map();

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const color = (planner) => css(`--p${planner % 7}`);
  const dash = (planner) => DASHES[planner % DASHES.length];

  function faded(hex, share) {
    const n = parseInt(hex.slice(1), 16);
    return `rgba(${n >> 16}, ${(n >> 8) & 255}, ${n & 255}, ${share})`;
  }

  function axis(label, size) {
    const line = { stroke: css("--line"), width: 1 };
    return {
      stroke: css("--quiet"), grid: line, ticks: line, font: "12px system-ui, sans-serif",
      label, labelFont: "12px system-ui, sans-serif", labelSize: label ? 22 : 0, labelGap: 4,
      gap: 3, size, space: size > 40 ? 24 : 50,
    };
  }

  /* Draws options() into a holder, and again whenever colors or size change. */
  function show(holder, height, description, options) {
    hide(holder);
    const entry = { chart: null, draw: null, width: 0 };
    entry.draw = () => {
      if (entry.chart) entry.chart.destroy();
      holder.replaceChildren();
      entry.width = holder.clientWidth;
      if (!entry.width) { entry.chart = null; return; }
      const { data, ...rest } = options();
      entry.chart = new uPlot({
        width: entry.width, height, legend: { show: false }, ...rest,
        axes: rest.axes || [axis("", 24), axis("", 48)],
      }, data, holder);
      entry.chart.root.setAttribute("role", "img");
      entry.chart.root.setAttribute("aria-label", description);
    };
    drawn.set(holder, entry);
    entry.draw();
    return entry;
  }

  function hide(holder) {
    const entry = drawn.get(holder);
    if (entry && entry.chart) entry.chart.destroy();
    drawn.delete(holder);
    holder.replaceChildren();
  }

  const again = () => drawn.forEach((entry) => entry.draw());
  new ResizeObserver(() => drawn.forEach((entry, holder) => {
    if (Math.abs(holder.clientWidth - entry.width) > 1) entry.draw();
  })).observe(document.body);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  const onPaper = (paper) => () => {
    document.documentElement.classList.toggle("paper", paper);
    again();
  };
  addEventListener("beforeprint", onPaper(true));
  addEventListener("afterprint", onPaper(false));

  return { show, hide, axis, color, dash, faded, css };
})();
