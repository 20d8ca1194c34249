// Draws what `cobre-comm bench` measured: two pictures and a table for each operation and number of ranks.
"use strict";
(() => {
  const run = JSON.parse(document.getElementById("data").textContent);
  const main = document.getElementById("results");
  const colours = ["#0550ae", "#116329", "#8250df", "#953800", "#0a7ea4", "#57606a", "#bf3989", "#7d4e00", "#1b7c83", "#6e40c9"];
  const dashes = [[], [6, 3], [2, 3], [8, 3, 2, 3], [12, 4]];
  const names = [...new Set(run.records.map((record) => record.backend))];
  const looks = new Map(names.map((name, i) => {
    const ours = run.records.find((record) => record.backend === name).kind === "ours";
    // Not by colour alone: dashes tell peers apart in print, and for who does not see the colours.
    return [name, { colour: colours[i % colours.length], width: ours ? 3 : 1, dash: ours ? [] : dashes[i % dashes.length] }];
  }));

  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }
  const number = (value) => value === null ? "" : value < 10 ? value.toFixed(3) : value < 1000 ? value.toFixed(1) : value.toFixed(0);
  const percent = (value) => value === null ? "" : `${(100 * value).toFixed(0)} %`;
  function size(bytes) {
    for (const [unit, name] of [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]]) {
      if (bytes >= unit) return `${+(bytes / unit).toFixed(bytes % unit ? 1 : 0)} ${name}`;
    }
    return `${bytes} B`;
  }
  // What is marked and not below its bar is slower than the best peer.
  const below = (record) => record.bar !== null && record.bar.ratio < record.bar.bar;
  const identity = (record) => `${record.op}-${record.ranks}`;
  const title = (record) => `${record.op}, ${record.ranks} ${record.ranks === 1 ? "rank" : "ranks"}`;

  function facts() {
    const list = element("dl");
    const add = (name, value) => list.append(element("dt", {}, name), element("dd", {}, String(value)));
    const { processor, name, kernel, usable_cores, mpi } = run.machine;
    add("machine", `${name}: ${processor}, ${usable_cores} usable cores, ${kernel}`);
    add("MPI", mpi);
    add("run", `cobre-comm ${run.run.version}, ${run.run.date}, ${run.run.rounds} rounds${run.run.complete ? "" : ", interrupted"}`);
    for (const absent of run.absent) add(absent.name, absent.because);
    return list;
  }

  function losses() {
    const lost = run.records.filter((record) => record.loses);
    const rated = run.records.filter((record) => record.ratio !== null || record.bar !== null);
    const section = element("section", { id: "lost" }, element("h2", {}, `Marked: ${lost.length} of ${rated.length} cells`));
    const list = element("ul");
    for (const record of lost) {
      const [against, ratio] = below(record) ? [`${record.bar.against}, promised ${record.bar.bar}`, record.bar.ratio] : [record.best_peer, record.ratio];
      list.append(element("li", {}, element("a", { href: `#${identity(record)}` }, `${title(record)}, ${size(record.bytes)}`),
        `: ${record.backend} has ${ratio.toFixed(2)} times the speed of ${against}`));
    }
    section.append(lost.length ? list : element("p", {}, "None of ours is slower than it should be."));
    return section;
  }

  function table(records) {
    const heads = ["bytes", "who", "median", "p99", "min", "noise", "of the limit", "ratio", "to", "marked"];
    const made = element("table", {}, element("caption", {}, `${title(records[0])}: microseconds`),
      element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col", class: ["who", "to", "marked"].includes(head) ? "name" : "" }, head)))));
    const body = element("tbody");
    for (const record of records) {
      const name = record.thread_level ? `${record.backend} (${record.thread_level})` : record.backend;
      const row = element("tr", { class: `${record.kind}${record.loses ? " lost" : ""}` },
        element("td", {}, size(record.bytes)),
        element("th", { scope: "row" }, name),
        element("td", { "data-op": record.op, "data-ranks": record.ranks, "data-bytes": record.bytes, "data-backend": record.backend,
          "data-median": record.median_us }, number(record.median_us)),
        element("td", {}, number(record.p99_us)), element("td", {}, number(record.min_us)),
        element("td", {}, percent(record.noise)),
        element("td", {}, record.limit_us === null ? "" : percent(record.limit_us / record.median_us)),
        element("td", {}, record.ratio === null ? "" : record.ratio.toFixed(2)),
        element("td", { class: "name" }, record.best_peer ?? ""),
        element("td", { class: "name" }, record.loses ? below(record) ? `below its bar of ${record.bar.bar}` : "slower" : ""));
      body.append(row);
    }
    made.append(body);
    // Scrolls by itself where the page is narrow, with the keyboard too.
    return element("div", { id: `${identity(records[0])}-table`, class: "wide", tabindex: "0", role: "region",
      "aria-label": `Table of ${title(records[0])}` }, made);
  }

  function chart(records, bytes, shown, caption, unit, value) {
    const reading = element("p", { class: "reading", "aria-hidden": "true" });
    // A slider, because that is what passes the arrow keys on and is read out when it moves. What it has a picture of
    // stands in a table too.
    const place = element("div", { class: "chart", tabindex: "0", role: "slider", "aria-roledescription": "chart",
      "aria-valuemin": "1", "aria-valuemax": bytes.length, "aria-details": `${identity(records[0])}-table` });
    const at = (name, size) => records.find((one) => one.backend === name && one.bytes === size);
    const data = [bytes, ...shown.map((name) => bytes.map((size) => {
      const record = at(name, size);
      return record ? value(record) : null;
    }))];
    const ends = (name, values) => `${name} from ${number(values.at(0))} to ${number(values.at(-1))}`;
    place.setAttribute("aria-label", `${caption} of ${title(records[0])}, ${size(bytes[0])} to ${size(bytes.at(-1))}, in ${unit}: ` +
      shown.map((name, i) => ends(name, data[i + 1].filter((one) => one !== null))).join("; "));
    const figure = element("figure", {}, element("figcaption", {}, `${caption}, ${unit}`), place, reading);
    const plain = (u, splits) => splits.map((one) => one === null ? "" : one < 1e-3 || one >= 1e5 ? one.toExponential(0) : +one.toPrecision(3));
    // Every fourth power of two, however narrow: uPlot's own filter would leave none on a phone.
    const sizes = (u, splits) => splits.map((one) => Math.log2(one) % 4 ? "" : size(one));
    // A ring around what falls short, beside the word in the table and the entry in the list.
    function mark(u) {
      const { ctx } = u;
      ctx.save();
      ctx.strokeStyle = "#b3261e";
      ctx.lineWidth = 2 * devicePixelRatio;
      for (const [s, name] of shown.entries()) {
        if (!u.series[s + 1].show) continue;
        for (const [i, one] of bytes.entries()) {
          if (!at(name, one)?.loses || data[s + 1][i] === null) continue;
          ctx.beginPath();
          ctx.arc(u.valToPos(one, "x", true), u.valToPos(data[s + 1][i], "y", true), 7 * devicePixelRatio, 0, 2 * Math.PI);
          ctx.stroke();
        }
      }
      ctx.restore();
    }
    const plot = () => new uPlot({
      width: Math.max(place.clientWidth, 240), height: 280, legend: { show: false }, cursor: { drag: { x: false, y: false } },
      scales: { x: { time: false, distr: 3, log: 2 }, y: { distr: 3, log: 10 } },
      axes: [{ values: sizes, filter: (u, splits) => splits, space: 20 }, { values: plain, size: 60 }],
      series: [{}, ...shown.map((name) => {
        const look = looks.get(name);
        return { label: name, stroke: look.colour, width: look.width, dash: look.dash, spanGaps: true, points: { show: true, size: look.width + 3 } };
      })],
      hooks: { draw: [mark], setCursor: [(u) => read(u.cursor.idx)] },
    }, data, place);
    let drawn = null;
    let point = 0;
    function said(i) {
      return `${size(bytes[i])}: ` + shown.map((name, s) => [name, data[s + 1][i]])
        .filter(([, one]) => one !== null).sort((a, b) => a[1] - b[1])
        .map(([name, one]) => `${name} ${number(one)}${at(name, bytes[i]).loses ? " (marked)" : ""}`).join(", ");
    }
    function place_at(i) {
      point = i;
      place.setAttribute("aria-valuenow", i + 1);
      place.setAttribute("aria-valuetext", said(i));
    }
    function read(i) {
      if (i === null || i === undefined) return;
      place_at(i);
      reading.textContent = said(i);
    }
    place_at(0);
    place.addEventListener("keydown", (event) => {
      const to = { ArrowRight: reading.textContent ? point + 1 : point, ArrowLeft: point - 1, Home: 0, End: bytes.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      read(Math.min(Math.max(to, 0), bytes.length - 1));
      drawn.setCursor({ left: drawn.valToPos(bytes[point], "x"), top: 10 }, false);
    });
    return {
      figure,
      draw() {
        drawn = plot();
        new ResizeObserver(() => drawn.setSize({ width: Math.max(place.clientWidth, 240), height: 280 })).observe(place);
      },
      show(name, visible) { drawn.setSeries(shown.indexOf(name) + 1, { show: visible }); },
    };
  }

  function keys(shown, charts) {
    const list = element("ul", { class: "keys", "aria-label": "Lines to show" });
    for (const name of shown) {
      const look = looks.get(name);
      const line = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      line.setAttribute("aria-hidden", "true");
      line.setAttribute("viewBox", "0 0 26 10");
      line.innerHTML = `<path d="M0 5H26" stroke="${look.colour}" stroke-width="${look.width}" stroke-dasharray="${look.dash.join(" ")}"/>`;
      const button = element("button", { type: "button", "aria-pressed": "true" }, line, name);
      button.addEventListener("click", () => {
        const visible = button.getAttribute("aria-pressed") === "false";
        button.setAttribute("aria-pressed", String(visible));
        for (const one of charts) one.show(name, visible);
      });
      list.append(element("li", {}, button));
    }
    return list;
  }

  main.append(element("section", {}, facts()), losses());
  const groups = new Map();
  for (const record of run.records) groups.set(identity(record), [...(groups.get(identity(record)) ?? []), record]);
  for (const [id, records] of groups) {
    const section = element("section", { id }, element("h2", {}, title(records[0])));
    main.append(section);
    const bytes = [...new Set(records.map((record) => record.bytes))].sort((a, b) => a - b);
    if (bytes.length > 1) {
      const shown = [...new Set(records.map((record) => record.backend))];
      const charts = [
        chart(records, bytes, shown, "Time", "microseconds", (record) => record.median_us || null),
        chart(records, bytes, shown, "Bandwidth", "GB/s", (record) => record.median_us ? record.bytes / record.median_us / 1000 : null),
      ];
      section.append(keys(shown, charts), element("div", { class: "charts" }, ...charts.map((one) => one.figure)));
      for (const one of charts) one.draw();
    }
    section.append(table(records));
  }
  document.body.dataset.drawn = "yes";
})();
