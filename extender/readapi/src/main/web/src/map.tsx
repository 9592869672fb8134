/** The map: each GPU as the stack of its pods, with its load beside it. */
import { computed, signal } from "@preact/signals";
import { Component, type VNode } from "preact";
import { useEffect } from "preact/hooks";
import { hovered, type Hover } from "./card.tsx";
import { factsOf } from "./gpu.ts";
import { colourOf, namespaces } from "./palette.ts";
import { memory, memoryOf, percent } from "./quantity.ts";
import { Bar, Stack } from "./stackbox.tsx";
import { shownGpus } from "./store.ts";
import { CELLS_MAX, forgetTiles, groupsOf, type Group, type Tile } from "./tile.ts";
import { go, GROUPS, link, place, shownPlace } from "./url.ts";

const by = computed(() => shownPlace.value.group);
let colouredFor = "";
const groups = computed(() => {
  const names = namespaces.value.join();
  if (names !== colouredFor) forgetTiles();
  colouredFor = names;
  return groupsOf(shownGpus.value, by.value);
});
const cells = computed(() => groups.value.reduce((sum, group) => sum + group.tiles.length, 0));
const size = computed(() =>
  whole.value ? "small" : cells.value <= 8 ? "huge" : cells.value <= 24 ? "large" : cells.value <= 96 ? "middle" : cells.value <= 400 ? "medium" : "small",
);
/** Whether the cells are large enough for names. */
const named = computed(() => !["medium", "small"].includes(size.value));
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
      <div class="choices">
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
      {whole.value && <p class="note">One cell for each node, with the sum of its GPUs. Open one to see them.</p>}
      <div class={`groups ${size.value} ${named.value ? "named" : ""} ${whole.value || by.value !== "node" ? "wide" : ""}`} onKeyDown={arrows} onClick={open} {...hovering}>
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

const NAMES_MAX = 8;

function Legend() {
  const names = namespaces.value;
  return (
    <ul class="legend" aria-label="Legend">
      {whole.value && by.value !== "namespace" && <li><i class="ns accent" aria-hidden="true" />granted</li>}
      {(by.value === "namespace" || !whole.value) && names.slice(0, NAMES_MAX).map((name) => <li key={name}><i class={`ns ns${colourOf(name)}`} aria-hidden="true" />{name}</li>)}
      {names.length > NAMES_MAX && <li>{names.length - NAMES_MAX} more namespaces</li>}
      <li><i class="ns idle ink" aria-hidden="true" />idle</li>
      <li><i class="free" aria-hidden="true" />free</li>
      <li><i class="blocked" aria-hidden="true" />free, not usable</li>
      <li><i class="bar sm" aria-hidden="true" />SM load</li>
      {named.value && <li><i class="bar mem" aria-hidden="true" />memory</li>}
      <li><i class="bar none" aria-hidden="true" />no reading</li>
      <li><i class="odd" aria-hidden="true" />needs a look</li>
    </ul>
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
      <section class="group" style={{ "--cells": group.tiles.length }}>
        <h2>{group.name}</h2>
        <p class="sub">
          {group.words.map((word) => <b class="word">{word}</b>)}
          {group.granted}{by.value !== "namespace" && <span class="long"> granted</span>} · {group.load}
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
  if (named.value && tile.gpu) return <NamedCell key={tile.key} tile={tile} />;
  let cell = known.get(tile);
  if (!cell) {
    cell = plainCell(tile);
    known.set(tile, cell);
  }
  return cell;
}

const boxClass = (tile: Tile) => `box ${tile.words.length > 0 ? "odd" : ""}`;

function plainCell(tile: Tile): VNode {
  return (
    <button key={tile.key} class="cell plain" data-key={tile.key} aria-label={tile.label} tabIndex={-1}>
      <span class={boxClass(tile)} style={{ backgroundImage: tile.picture }} />
      <span class={`bar ${tile.load === undefined ? "none" : ""}`} style={{ backgroundSize: `100% ${Math.min(1, tile.load ?? 0) * 100}%` }} />
    </button>
  );
}

function NamedCell({ tile }: { tile: Tile }) {
  const gpu = tile.gpu!;
  const facts = factsOf(gpu);
  const words = tile.words.filter((word) => word !== "overused");
  return (
    <button class="cell" data-key={tile.key} tabIndex={-1}>
      <span class="said">{tile.label}</span>
      <span class="head" aria-hidden="true">
        <b>{by.value === "node" ? "GPU" : gpu.node} {tile.name}</b>
        <span class="load">{tile.load === undefined ? "–" : percent(tile.load)}</span>
      </span>
      <span class="body" aria-hidden="true">
        <span class={boxClass(tile)}><Stack parts={tile.parts} size={size.value} /></span>
        <Bar kind="sm" share={tile.load} />
        <Bar kind="mem" share={facts.usedBytes === undefined ? undefined : facts.usedBytes / facts.bytes} />
      </span>
      <span class="foot" aria-hidden="true">
        <span>{facts.usedBytes === undefined ? "– of " : `${memoryOf(facts.usedBytes, facts.bytes)} of `}{memory(facts.bytes)}</span>
        {words.length > 0 && <b class="word">{words.join(", ")}</b>}
        {tile.words.includes("overused") && <b class="word">{gpu.overuse}</b>}
      </span>
    </button>
  );
}

const cellOf = (event: Event) => (event.target as HTMLElement).closest<HTMLElement>("[data-key]");

function open(event: Event) {
  const key = cellOf(event)?.dataset["key"];
  if (!key) return;
  if (whole.value) go({ q: `${place.value.q} node=${key}`.trim() });
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

/** Moves the focus among GPUs, the map's cells or the table's links. */
export function arrows(event: KeyboardEvent) {
  const here = cellOf(event);
  if (!here || !event.key.startsWith("Arrow")) return;
  event.preventDefault();
  const all = [...document.querySelectorAll<HTMLElement>("[data-key]")];
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

let shownKey = "";

/** Marks the cell of the open GPU, and shows it once, since the drawer may have moved it. */
export function showOpen() {
  const key = shownPlace.value.gpu;
  const marked = document.querySelector<HTMLElement>(".cell[data-open]");
  if (marked && marked.dataset["key"] !== key) delete marked.dataset["open"];
  if (!key) shownKey = "";
  const cell = key && document.querySelector<HTMLElement>(`.cell[data-key="${CSS.escape(key)}"]`);
  if (!cell) return;
  cell.dataset["open"] = "";
  if (shownKey !== key) cell.scrollIntoView({ block: "nearest" });
  shownKey = key;
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
