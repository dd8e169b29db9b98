// The entry point: reads the data in the page and shows a report, the list of runs, or each row over
// the runs. If the page
// is served, events bring newer data.

import "uplot/dist/uPlot.min.css";
import "./base.css";
import "./answer.css";
import "./charts.css";
import "./evidence.css";
import "./live.css";
import "./list.css";
import "./print.css";

import { follow } from "./events.ts";
import { ListView } from "./list.ts";
import { readData } from "./read.ts";
import { Report } from "./report.ts";
import { rowsView } from "./rows.ts";
import { followTheme } from "./theme.ts";

function start(): void {
  const root = document.getElementById("page");
  if (!root) return;
  followTheme();
  const raw = document.getElementById("data")?.textContent ?? "";
  const data = readData(raw);
  if (data.kind === "list") {
    const view = new ListView(root, data);
    follow(data.list.events, { history: (text) => view.show(text) }, (state) => view.strip.connection(state));
    return;
  }
  if (data.kind === "rows") {
    rowsView(root, data.rows, data.problems);
    return;
  }
  const report = new Report(root, raw, data);
  const on = { page: (text: string) => report.show(text), now: (text: string) => report.now(text) };
  follow(data.page.served?.events ?? "", on, (state) => report.strip.connection(state));
}

start();
