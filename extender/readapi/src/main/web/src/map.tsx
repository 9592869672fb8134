/** The map: a cell for each GPU, as high as its granted share and coloured by its load. */
import { computed, signal } from "@preact/signals";
import { Component, type VNode } from "preact";
import { useEffect } from "preact/hooks";
import { cividis } from "./colour.ts";
import { hovered, type Hover } from "./card.tsx";
import { shareText } from "./gpu.ts";
import { percent } from "./quantity.ts";
import { shownGpus } from "./store.ts";
import { CELLS_MAX, groupsOf, type Group, type Tile } from "./tile.ts";
import { go, GROUPS, link, place, shownPlace } from "./url.ts";

const by = computed(() => shownPlace.value.group);
const groups = computed(() => groupsOf(shownGpus.value, by.value));
const cells = computed(() => groups.value.reduce((sum, group) => sum + group.tiles.length, 0));
const size = computed(() => (cells.value <= 24 ? "large" : cells.value <= 240 ? "medium" : "small"));
const whole = computed(() => shownGpus.value.length > CELLS_MAX);

/** Mounting a thousand cells at once would delay the response to a key. */
const CELLS_AT_ONCE = 100;
/** Identifies the current view; a change of the filter starts mounting again. */
const scope = computed(() => JSON.stringify([shownPlace.value.q, by.value, shownPlace.value.view, shownPlace.value.as]));
const mounted = signal({ scope: "", cells: 0 });
const cellsMax = computed(() => (mounted.value.scope === scope.value ? mounted.value.cells : CELLS_AT_ONCE));
const drawn = computed(() => firstCells(groups.value, cellsMax.value));

function firstCells(all: readonly Group[], cellsMax: number): readonly Group[] {
  const first: Group[] = [];
  let left = cellsMax;
  for (const group of all) {
    if (left <= 0) break;
    first.push(group.tiles.length <= left ? group : { ...group, tiles: group.tiles.slice(0, left) });
    left -= group.tiles.length;
  }
  return first;
}

/** Mounts the remaining cells in later frames. */
function mountMore() {
  if (cellsMax.value >= cells.value) return;
  const next = { scope: scope.value, cells: cellsMax.value + CELLS_AT_ONCE };
  const frame = requestAnimationFrame(() => (mounted.value = next));
  return () => cancelAnimationFrame(frame);
}

/** The one cell that Tab reaches; the arrow keys change it. */
const current = signal("");

export function GpuMap() {
  useEffect(mountMore);
  forgetOldCells();
  return (
    <section aria-label="Map of GPUs">
      <div class="bar">
        <div class="choice" role="group" aria-label="Group by">
          {GROUPS.map((group) => (
            <a href={link({ group })} onClick={follow({ group })} aria-current={place.value.group === group ? "true" : undefined}>
              {group}
            </a>
          ))}
        </div>
        <Legend />
        <a class="twin" href={link({ as: "table" })} onClick={follow({ as: "table" })}>Table</a>
      </div>
      {whole.value && <p class="note">One cell for each node, with the mean of its GPUs. Open one to see them.</p>}
      <div class={`groups ${size.value} ${whole.value || (by.value !== "node" && size.value !== "large") ? "wide" : ""}`} onKeyDown={arrows} onClick={open} {...hovering}>
        {drawn.value.map((group) => <GroupBox key={group.name} group={group} />)}
      </div>
    </section>
  );
}

export const follow = (change: Parameters<typeof go>[0]) => (event: MouseEvent) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  go(change);
};

function Legend() {
  return (
    <p class="legend">
      <span>SM load 0 %</span>
      <span class="scale" aria-hidden="true">
        {[0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95].map((load) => <i style={{ background: cividis(load) }} />)}
      </span>
      <span>100 %</span>
      <span class="key"><i class="half" aria-hidden="true" /> height: granted</span>
      <span class="key"><i class="missing" aria-hidden="true" /> no reading</span>
    </p>
  );
}

class GroupBox extends Component<{ group: Group }> {
  override shouldComponentUpdate({ group: next }: { group: Group }) {
    const { group } = this.props;
    return (
      next.granted !== group.granted ||
      next.load !== group.load ||
      next.tiles.length !== group.tiles.length ||
      next.tiles.some((tile, i) => tile !== group.tiles[i])
    );
  }

  override render({ group }: { group: Group }) {
    return (
      <section class="group">
        <h2>{group.name}</h2>
        <p class="sub">
          {group.words.map((word) => <b class="word">{word}</b>)}
          {group.granted}<span class="long"> granted</span> ·{" "}
          {group.load ? <><span class="long">load </span>{group.load}</> : "no reading"}
          {by.value !== "model" && <span class="model"> · {group.model}</span>}
        </p>
        <div class="cells">
          {group.tiles.map(cellOfTile)}
        </div>
      </section>
    );
  }
}

/** A cached cell keeps the whole tree that it was created in alive. So the cache is cleared after this many renderings. */
const DRAWN_MAX = 30;
let known = new WeakMap<Tile, VNode>();
let drawnTimes = 0;

function forgetOldCells() {
  if (++drawnTimes % DRAWN_MAX === 0) known = new WeakMap();
}

/** The same node for the same tile, so that Preact skips it. A thousand components would cost more than the drawing. */
function cellOfTile(tile: Tile): VNode {
  if (size.value === "large") return <Cell key={tile.key} tile={tile} large={true} />;
  let cell = known.get(tile);
  if (!cell) {
    cell = Cell({ tile, large: false });
    known.set(tile, cell);
  }
  return cell;
}

function Cell({ tile, large }: { tile: Tile; large: boolean }) {
  const { load, share, words } = tile;
  const fill = { height: `${Math.min(1, share) * 100}%`, background: load === undefined ? "" : cividis(load) };
  return (
    <button key={tile.key} class="cell" data-key={tile.key} aria-label={large ? undefined : tile.label} tabIndex={-1}>
      {large && <span class="said">{tile.label}</span>}
      <span class={`box ${load === undefined ? "missing" : ""} ${words.length > 0 ? "odd" : ""}`}>
        <span class="fill" style={fill} />
      </span>
      {large && <Figures tile={tile} />}
    </button>
  );
}

/** Text in a cell, if it fits. */
function Figures({ tile: { gpu, load, name, words } }: { tile: Tile }) {
  if (!gpu) return null;
  return (
    <span class="figures" aria-hidden="true">
      <b class="mono">{load === undefined ? "–" : percent(load)}</b>
      <span>{by.value === "node" ? "GPU" : gpu.node} {name} · {shareText(gpu)}</span>
      {words.length > 0 && <b class="word">{words.join(", ")}</b>}
      {gpu.holders.slice(0, 4).map((holder) => <span class="mono pod">{holder.name}</span>)}
    </span>
  );
}

const cellOf = (event: Event) => (event.target as HTMLElement).closest<HTMLElement>(".cell");

function open(event: Event) {
  const key = cellOf(event)?.dataset["key"];
  if (!key) return;
  if (whole.value) go({ q: `${place.value.q} node:${key}`.trim() });
  else go({ gpu: key, pod: "" });
}

function hover(event: Event) {
  const cell = cellOf(event);
  const next: Hover | undefined = cell ? { key: cell.dataset["key"]!, at: cell.getBoundingClientRect() } : undefined;
  if (next?.key !== hovered.value?.key) hovered.value = next;
}

const hovering = {
  onMouseOver: hover,
  onMouseLeave: () => (hovered.value = undefined),
  onFocusCapture: (event: FocusEvent) => {
    hover(event);
    current.value = cellOf(event)?.dataset["key"] ?? "";
  },
  onBlurCapture: () => (hovered.value = undefined),
};

function arrows(event: KeyboardEvent) {
  const here = cellOf(event);
  if (!here || !event.key.startsWith("Arrow")) return;
  event.preventDefault();
  const all = [...document.querySelectorAll<HTMLElement>(".cell")];
  const at = all.indexOf(here);
  const next =
    event.key === "ArrowRight" ? all[at + 1]
    : event.key === "ArrowLeft" ? all[at - 1]
    : nearest(here, all, event.key === "ArrowDown" ? 1 : -1);
  next?.focus();
}

/** The closest cell in the next row up or down. */
function nearest(here: HTMLElement, all: readonly HTMLElement[], way: 1 | -1): HTMLElement | undefined {
  const from = here.getBoundingClientRect();
  let best: HTMLElement | undefined;
  let least = Infinity;
  for (const cell of all) {
    const to = cell.getBoundingClientRect();
    const down = (to.top - from.top) * way;
    // The vertical distance outweighs any horizontal distance.
    const far = down * 10_000 + Math.abs(to.left - from.left);
    if (down > 4 && far < least) {
      least = far;
      best = cell;
    }
  }
  return best;
}

/** Tab reaches one cell: the one that was focused last, or the first one. */
export function letTabIn() {
  const all = document.querySelectorAll<HTMLElement>(".cell[tabindex='0']");
  const wanted =
    document.querySelector<HTMLElement>(`.cell[data-key="${CSS.escape(current.value)}"]`) ??
    document.querySelector<HTMLElement>(".cell");
  all.forEach((cell) => cell !== wanted && (cell.tabIndex = -1));
  if (wanted && wanted.tabIndex !== 0) wanted.tabIndex = 0;
}
