"use strict";
(() => {
  // ---- plots
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const byFinger = matchMedia("(pointer: coarse)").matches;
  const config = {
    responsive: true, displaylogo: false, displayModeBar: true, typesetMath: false,
    // These and no others: newer versions bring one that sends the data to Plotly's servers.
    modeBarButtons: [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
    showSendToCloud: false, plotlyServerURL: "",
  };

  const colour = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue("--plot-" + name).trim();

  // Names of colours become colours, under the keys of colours only: texts stay as they are.
  const painted = (value, key = "") => {
    if (Array.isArray(value)) {
      const inside = /color(scale)?$/.test(key) ? key : "";
      return value.map((one) => painted(one, inside));
    }
    if (value !== null && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, painted(one, name)]));
    }
    const isColour = typeof value === "string" && /color(scale)?$/.test(key) && value.startsWith("theme:");
    return isColour ? colour(value.slice(6)) : value;
  };

  const axis = { gridcolor: "theme:grid", zerolinecolor: "theme:grid", linecolor: "theme:grid" };
  const layoutOf = (layout, width) => {
    const whole = {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: "theme:ink" },
      hoverlabel: {
        bgcolor: "theme:raised", bordercolor: "theme:quiet", font: { color: "theme:ink" }, align: "left",
      },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: "theme:quiet", activecolor: "theme:ink" },
      margin: { l: 10, r: 10, t: 36, b: 50 }, uirevision: 1,
      // A finger that scrolls the page must not zoom; the buttons still do.
      dragmode: byFinger ? false : "zoom",
      ...layout,
    };
    for (const name of Object.keys(layout)) {
      if (/^[xy]axis/.test(name)) whole[name] = { ...axis, ...layout[name] };
      if (/^xaxis/.test(name)) whole[name].nticks = Math.max(3, Math.floor(width / 130));
    }
    return painted(whole);
  };

  const boxes = [...document.querySelectorAll("[data-plot]")].filter((box) => figures[box.dataset.plot]);
  const draw = (box) => {
    const figure = figures[box.dataset.plot];
    return Plotly.react(box, painted(figure.data), layoutOf(figure.layout, box.clientWidth), config);
  };
  const drawAll = () => Promise.all(boxes.map(draw));

  // The first axis by keys: arrows move, + and - zoom, 0 shows all again.
  const keys = { ArrowLeft: [-0.1, 1], ArrowRight: [0.1, 1], "+": [0, 0.5], "=": [0, 0.5], "-": [0, 2] };
  const onKey = (event) => {
    const box = event.currentTarget;
    if (event.target !== box || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "0") {
      event.preventDefault();
      Plotly.relayout(box, { "xaxis.autorange": true });
    } else if (keys[event.key]) {
      event.preventDefault();
      const [move, scale] = keys[event.key];
      const [first, last] = box.layout.xaxis.range;
      const middle = (first + last) / 2 + move * (last - first), half = (scale * (last - first)) / 2;
      Plotly.relayout(box, { "xaxis.range": [middle - half, middle + half] });
    }
  };

  for (const box of boxes) {
    box.textContent = "";
    box.tabIndex = 0;
    box.addEventListener("keydown", onKey);
  }
  drawAll().then(() => { document.documentElement.dataset.drawn = "yes"; });
  dark.addEventListener("change", drawAll);

  // ---- tables that sort
  const valueOf = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
  };
  const compare = (a, b) => {
    if (typeof a === typeof b) return typeof a === "number" ? a - b : a.localeCompare(b);
    return typeof a === "number" ? 1 : -1; // what is not there comes last when the largest is first
  };
  const sortBy = (table, column) => {
    const heads = [...table.tHead.rows[0].cells];
    const down = heads[column].getAttribute("aria-sort") !== "descending";
    heads.forEach((head) => head.removeAttribute("aria-sort"));
    heads[column].setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...table.tBodies[0].rows].map((row) => [valueOf(row, column), row]);
    rows.sort(([a], [b]) => (down ? compare(b, a) : compare(a, b)));
    table.tBodies[0].append(...rows.map(([, row]) => row));
  };
  for (const table of document.querySelectorAll("table[data-sortable]")) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sortBy(table, column));
      head.append(button);
    });
  }
})();
