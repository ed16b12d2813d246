// SPDX-License-Identifier: MIT OR Apache-2.0
// Draws what the page begins with. A click on a build makes it the baseline of all dot plots; another click on it goes
// back to what was measured.
"use strict";
const overview = JSON.parse(document.getElementById("overview-data").textContent);
const style = { displaylogo: false, responsive: true, displayModeBar: false };
const BASELINE = "#D55E00";
let baseline = overview.baseline;

const text = (value) => (value === null ? "" : Number(value.toPrecision(4)).toString());

// An interval as text: nothing where both ends are missing.
const between = (low, high) => (low === null && high === null ? "" : ` (${text(low) || "unknown"} to ${text(high) || "unknown"})`);

function shown(panel) {
  const relative = baseline !== null && panel.ratios[baseline];
  const points = panel.builds.map((build, place) => ({
    build, of: relative ? relative[place] : panel.values[place], note: panel.notes[place],
    said: (relative && panel.verdicts[baseline][place]) || `n = ${panel.samples[place]}`,
  }));
  return { relative: Boolean(relative), points: points.sort((a, b) => b.of[0] - a.of[0]) };
}

function drawPanel(place, panel) {
  const { relative, points } = shown(panel);
  const [x, low, high] = [0, 1, 2].map((end) => points.map((point) => point.of[end]));
  const distance = (ends, sign) => ends.map((end, i) => (end === null ? 0 : Math.max(sign * (end - x[i]), 0)));
  const trace = {
    type: "scatter", mode: "markers", x, y: points.map((point) => point.build),
    marker: {
      size: 9, color: points.map((point) => overview.looks[point.build].colour), symbol: points.map((point) => overview.looks[point.build].symbol + (point.note && "-open")),
      line: { color: "black", width: points.map((point) => (point.build === baseline ? 2 : 0)) },
    },
    error_x: { type: "data", symmetric: false, array: distance(high, 1), arrayminus: distance(low, -1), thickness: 1.5, width: 4 },
    text: points.map((point, i) => `${text(x[i])}${between(low[i], high[i])}, ${point.said}${point.note && `<br>${point.note}`}`),
    hovertemplate: "%{y}: %{text}<extra></extra>",
  };
  const layout = {
    title: { text: panel.title + (relative ? ` / ${baseline}` : ` (${panel.unit})`), font: { size: 14 } },
    height: 90 + 24 * points.length, margin: { l: 10, r: 16, t: 36, b: 32 }, template: "plotly_white",
    xaxis: { zeroline: false, gridcolor: "#e5e5e5" },
    yaxis: { automargin: true, type: "category", gridcolor: "#e5e5e5", tickfont: { size: 12 } },
    shapes: relative ? [{ type: "line", x0: 1, x1: 1, yref: "paper", y0: 0, y1: 1, line: { color: BASELINE, width: 1 } }] : [],
    plot_bgcolor: "white",
  };
  return Plotly.react(place, [trace], layout, style);
}

function choose(build) {
  baseline = build === baseline ? null : build;
  document.getElementById("baseline").value = baseline ?? "";
  drawCell();
}

function drawCell() {
  const cell = overview.cells[document.getElementById("cell").value];
  const panels = document.getElementById("panels");
  while (panels.children.length > cell.panels.length) panels.lastChild.remove();
  cell.panels.forEach((panel, number) => {
    let place = panels.children[number];
    if (!place) {
      place = panels.appendChild(document.createElement("div"));
      drawPanel(place, panel).then(() => place.on("plotly_click", (event) => choose(event.points[0].y)));
    } else {
      drawPanel(place, panel);
    }
  });
}

function drawScatter(scatter) {
  const place = document.getElementById("scatters").appendChild(document.createElement("div"));
  const traces = scatter.builds.map((build) => ({
    type: "scatter", mode: "lines+markers", name: build.name, x: build.memory, y: build.time,
    line: { width: 1, color: overview.looks[build.name].colour, dash: overview.looks[build.name].dash },
    marker: { size: 8, color: overview.looks[build.name].colour, symbol: overview.looks[build.name].symbol }, customdata: build.heaps,
    hovertemplate: `${build.name}, %{customdata} MiB: %{x:.0f} MiB resident, %{y:.0f} ms<extra></extra>`,
  }));
  Plotly.newPlot(place, traces, {
    title: { text: `${scatter.name}: memory against time`, font: { size: 14 } }, height: 520,
    legend: { orientation: "h", y: -0.2, yanchor: "top" }, showlegend: true,
    margin: { l: 10, r: 16, t: 36, b: 44 }, plot_bgcolor: "white",
    xaxis: { title: { text: "peak resident memory (MiB)" }, rangemode: "tozero", gridcolor: "#e5e5e5" },
    yaxis: { title: { text: "total time (ms)" }, rangemode: "tozero", automargin: true, gridcolor: "#e5e5e5" },
  }, style);
}

function option(select, value, label) {
  select.appendChild(Object.assign(document.createElement("option"), { value, textContent: label }));
}

if (overview.cells.length) {
  const cells = document.getElementById("cell"), builds = document.getElementById("baseline");
  overview.cells.forEach((cell, number) => option(cells, number, cell.name));
  const names = new Set(overview.cells.flatMap((cell) => cell.panels.flatMap((panel) => panel.builds)));
  option(builds, "", "none: as measured");
  [...names].sort().forEach((name) => option(builds, name, name));
  builds.value = baseline ?? "";
  cells.addEventListener("change", drawCell);
  builds.addEventListener("change", () => { baseline = builds.value || null; drawCell(); });
  drawCell();
}
overview.scatters.forEach(drawScatter);
