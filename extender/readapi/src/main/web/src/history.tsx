/** The load of a GPU in the last hours. */
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { useAnswer } from "./answer.ts";
import { memory, percent } from "./quantity.ts";
import type { Gpu, History, HistoryGpu } from "./types.ts";

const AGAIN_MS = 10_000;
const HEIGHT_PX = 168;
/** The least span of the time axis, so that the first minutes are not stretched over the whole plot. */
const SPAN_S_MIN = 600;
const TICKS_S = [60, 300, 600, 1_800, 3_600, 7_200];

type Column = readonly (number | null)[];

/** @param bytes of the GPU's memory */
export function LastHours({ gpu, bytes }: { gpu: Gpu; bytes: number }) {
  const asked = new URLSearchParams({ node: gpu.node, uuid: gpu.uuid });
  const found = useAnswer<History>(`history?${asked}`, AGAIN_MS);
  const track = typeof found === "string" ? undefined : found.gpus[0];
  return (
    <>
      <h3>Last hours</h3>
      {typeof found !== "string" && track ? (
        <Plot history={found} track={track} bytes={bytes} />
      ) : (
        <p class="quiet">{found ? (typeof found === "string" ? found : "Nothing was recorded.") : "Reading…"}</p>
      )}
    </>
  );
}

interface Shown {
  readonly history: History;
  readonly track: HistoryGpu;
  readonly bytes: number;
}

function Plot({ history, track, bytes }: Shown) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const [pointed, setPointed] = useState<number | undefined>();
  const dark = useDark();
  useEffect(() => {
    const within = box.current!;
    const made = new uPlot(options(within, setPointed), columns(history, track, bytes), within);
    plot.current = made;
    const resized = new ResizeObserver(() => made.setSize({ width: within.clientWidth, height: HEIGHT_PX }));
    resized.observe(within);
    return () => {
      resized.disconnect();
      made.destroy();
    };
  }, [dark]);
  useEffect(() => plot.current?.setData(columns(history, track, bytes)), [history]);
  const at = Math.min(pointed ?? Infinity, history.times.length - 1);
  return (
    <figure class="history">
      <div role="img" aria-label="SM load, memory in use and granted share over time, in percent of the GPU" ref={box} />
      <p class="series" aria-hidden="true">
        <span><i />SM load <b>{shareText(track.sm[at])}</b></span>
        <span><i class="memory" />memory <b>{track.memory[at] == null ? "–" : memory(track.memory[at])}</b></span>
        <span><i class="granted" />granted <b>{shareText(track.granted[at])}</b></span>
        <time>{clock(Date.parse(history.times[at]!))}</time>
      </p>
      <figcaption>{summary(history, track)}</figcaption>
    </figure>
  );
}

const THEME = "(prefers-color-scheme: dark)";

/** Needed because a canvas does not follow the style sheet. */
function useDark(): boolean {
  const [dark, setDark] = useState(matchMedia(THEME).matches);
  useEffect(() => {
    const query = matchMedia(THEME);
    const changed = () => setDark(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, []);
  return dark;
}

/** Values in percent, times in seconds; in the order of the series below. */
function columns({ times }: History, { sm, smMax, memory, granted }: HistoryGpu, bytes: number): uPlot.AlignedData {
  const parts = (column: Column, one: number) => column.map((value) => (value === null ? null : (value / one) * 100));
  return [times.map((time) => Date.parse(time) / 1_000), parts(granted, 1), parts(memory, bytes), parts(smMax, 1), parts(sm, 1)];
}

function options(box: HTMLElement, point: (index: number | undefined) => void): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const size = parseInt(colour("--small"));
  const axis = { font: `${size}px system-ui, sans-serif`, stroke: colour("--quiet"), ticks: { show: false } };
  const line = (stroke: string) => ({ stroke, points: { show: true, size: 4, fill: stroke, filter: alone } });
  const stepped = uPlot.paths.stepped!({ align: 1 });
  return {
    width: box.clientWidth,
    height: HEIGHT_PX,
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    scales: { x: { range: (_, from, to) => [Math.min(from, to - SPAN_S_MIN), to] }, y: { range: [0, 100] } },
    axes: [
      { ...axis, grid: { show: false }, size: size * 2, gap: 4, space: size * 6, incrs: TICKS_S, values: (_, at) => at.map((s) => clock(s * 1_000)) },
      {
        ...axis, grid: { stroke: colour("--line"), width: 1 }, size: size * 3.5, gap: 4,
        splits: () => [0, 50, 100], values: (_, at) => at.map((value) => percent(value / 100)),
      },
    ],
    series: [
      {},
      { paths: stepped, stroke: colour("--hatch"), width: 1, fill: `${colour("--hatch")}4d`, points: { show: false } },
      { ...line(colour("--ink")), width: 1.5, dash: [4, 4] },
      { width: 0, points: { show: false } },
      { ...line(colour("--accent")), width: 2 },
    ],
    // The band goes from the mean of a step to its highest sample.
    bands: [{ series: [3, 4], fill: `${colour("--accent")}40` }],
    hooks: { setCursor: [(plot) => point(plot.cursor.idx ?? undefined)] },
  };
}

/** Indices of values between two gaps: they need a point, since they form no line. */
function alone(plot: uPlot, series: number): number[] {
  const values = plot.data[series]!;
  return [...values.keys()].filter((i) => values[i] != null && values[i - 1] == null && values[i + 1] == null);
}

const clock = (ms: number) => new Date(ms).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });

const shareText = (share: number | null | undefined) => (share == null ? "–" : percent(share));

/** The plot as text. */
function summary({ times }: History, track: HistoryGpu): string {
  const span = `${clock(Date.parse(times[0]!))} to ${clock(Date.parse(times.at(-1)!))}`;
  const granted = `granted ${percent(mean(track.granted))} on average`;
  const measured = known(track.sm);
  if (measured.length === 0) return `${span}: ${granted}, without a reading.`;
  const missing = 1 - measured.length / times.length;
  return (
    `${span}: SM load ${percent(mean(track.sm))} on average and ${percent(Math.max(...known(track.smMax)))} at most, ` +
    `memory ${memory(Math.max(...known(track.memory)))} at most, ${granted}.` +
    (missing > 0 ? ` ${percent(Math.max(0.01, missing))} of the time has no reading.` : "")
  );
}

const known = (column: Column) => column.filter((value) => value !== null);

const mean = (column: Column) => known(column).reduce((sum, value) => sum + value, 0) / Math.max(1, known(column).length);
