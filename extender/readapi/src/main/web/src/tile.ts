/** What one cell of the map shows: a GPU, or a whole node if there are too many GPUs. */
import { factsOf, modelText, readingText, shareText } from "./gpu.ts";
import { colourOf } from "./palette.ts";
import { count, gpus as gpuText, gpusOf, percent, share } from "./quantity.ts";
import { partsOf, partsOfNamespace, shareOf, type Part } from "./stack.ts";
import { gather, gpuKey } from "./key.ts";
import type { Gpu } from "./types.ts";

export interface Tile {
  readonly key: string;
  readonly label: string;
  readonly name: string;
  readonly parts: readonly Part[];
  /** The stack as a CSS image, for cells without text. */
  readonly picture: string;
  readonly load: number | undefined;
  readonly words: readonly string[];
  readonly gpu: Gpu | undefined;
}

export interface Group {
  readonly name: string;
  readonly model: string;
  readonly granted: string;
  readonly load: string;
  readonly words: readonly string[];
  readonly tiles: readonly Tile[];
}

/** More cells than this are not readable: the map then has one cell for each node. */
export const CELLS_MAX = 2_000;

/** By namespace for a group of a namespace; "" for a whole GPU. */
let tiles = new WeakMap<Gpu, Map<string, Tile>>();

/** Colours are those of all namespaces, so a new namespace may change them. */
export const forgetTiles = () => (tiles = new WeakMap());

function tileOf(gpu: Gpu, namespace = ""): Tile {
  let byNamespace = tiles.get(gpu);
  if (!byNamespace) tiles.set(gpu, (byNamespace = new Map()));
  let tile = byNamespace.get(namespace);
  if (!tile) byNamespace.set(namespace, (tile = tileOfGpu(gpu, namespace)));
  return tile;
}

function tileOfGpu(gpu: Gpu, namespace: string): Tile {
  const facts = factsOf(gpu);
  const load = facts.load === undefined ? readingText(gpu) : `load ${percent(facts.load)}`;
  const parts = namespace ? partsOfNamespace(gpu, namespace) : partsOf(gpu);
  const idle = gpu.holders.filter((holder) => holder.idleSince).reduce((sum, holder) => sum + shareOf(holder), 0);
  const own = namespace ? [`${share(heldBy(gpu, namespace))} held by ${namespace}`] : [];
  return {
    key: gpuKey(gpu),
    name: String(gpu.index),
    label: [
      `${gpu.node} GPU ${gpu.index}`, gpu.model, ...own, `${shareText(gpu)} granted`, ...(idle > 0 ? [`${share(idle)} idle`] : []), load, ...facts.words,
    ].join(", "),
    parts,
    picture: picture(parts.map(stripOf)),
    load: facts.load,
    words: namespace ? wordsOf(gpu, namespace) : facts.words,
    gpu,
  };
}

const heldBy = (gpu: Gpu, namespace: string) =>
  gpu.holders.reduce((sum, holder) => sum + (holder.namespace === namespace ? shareOf(holder) : 0), 0);

/** Not "overused" where it is known that others overuse the GPU. */
function wordsOf(gpu: Gpu, namespace: string): readonly string[] {
  const { words } = factsOf(gpu);
  const users = gpu.holders.filter((holder) => holder.overuses);
  const known = users.length > 0 || gpu.memoryOfNoPod !== undefined;
  return known && !users.some((holder) => holder.namespace === namespace) ? words.filter((word) => word !== "overused") : words;
}

const OF_KIND = { others: "var(--others)", unknown: "var(--others)", free: "transparent", blocked: "var(--others)" };

interface Strip {
  readonly share: number;
  readonly colour: string;
  readonly striped: boolean;
}

const stripOf = (part: Part): Strip =>
  part.kind === "pod"
    ? { share: part.share, colour: `var(--ns${colourOf(part.holder.namespace)})`, striped: Boolean(part.holder.idleSince) }
    : { share: part.share, colour: OF_KIND[part.kind], striped: part.kind !== "free" };

/** One image of hard stops: idle shares are striped, and a gap separates the parts. */
function picture(strips: readonly Strip[]): string {
  const stops: string[] = [];
  let from = 0;
  for (const { share: part, colour, striped } of strips) {
    if (part < 0.0005) continue;
    const to = from + part * 100;
    stops.push(striped ? stripes(colour, from, to) : `${colour} ${from}% calc(${to}% - 1px)`, `transparent calc(${to}% - 1px) ${to}%`);
    from = to;
  }
  stops.push(`transparent ${Math.min(100, from)}% 100%`);
  return `linear-gradient(${stops.join()})`;
}

const STRIPES = 8;

function stripes(colour: string, from: number, to: number): string {
  const count = Math.max(1, Math.round(((to - from) / 100) * STRIPES));
  const height = (to - from) / count;
  return Array.from({ length: count }, (_, i) => {
    const at = from + i * height;
    return `${colour} ${at}% ${at + height / 2}%,transparent ${at + height / 2}% ${at + height}%`;
  }).join();
}

/** The tiles drawn last: a node that has not changed is not drawn again. */
let nodeTiles = new Map<string, Tile>();

function tileOfNode(node: string, gpus: readonly Gpu[], namespace: string): Tile {
  const sums = sum(gpus, namespace);
  const load = sums.load === undefined ? "no reading" : `load ${percent(sums.load)}`;
  const label = [node, `${gpus.length} GPUs`, `${percent(sums.share)} granted`, load, ...sums.words].join(", ");
  const image = merged(gpus, namespace);
  const before = nodeTiles.get(`${namespace}/${node}`);
  return before?.label === label && before.picture === image
    ? before
    : { key: node, name: node, label, parts: [], picture: image, load: sums.load, words: sums.words, gpu: undefined };
}

/** What all GPUs of a node hold and how much of that is idle, with the namespace's colour if there is one. */
function merged(gpus: readonly Gpu[], namespace: string): string {
  let busy = 0;
  let idle = 0;
  let others = 0;
  for (const gpu of gpus) {
    for (const part of namespace ? partsOfNamespace(gpu, namespace) : partsOf(gpu)) {
      if (part.kind === "others" || part.kind === "unknown") others += part.share;
      else if (part.kind === "pod" && part.holder.idleSince) idle += part.share;
      else if (part.kind === "pod") busy += part.share;
    }
  }
  const colour = namespace ? `var(--ns${colourOf(namespace)})` : "var(--accent)";
  return picture([
    { share: busy / gpus.length, colour, striped: false },
    { share: idle / gpus.length, colour, striped: true },
    { share: others / gpus.length, colour: "var(--others)", striped: true },
  ]);
}

/** Means, and for each word the number of GPUs that it applies to. */
function sum(gpus: readonly Gpu[], namespace: string) {
  let granted = 0;
  let load = 0;
  let measured = 0;
  const words = new Map<string, number>();
  for (const gpu of gpus) {
    const facts = factsOf(gpu);
    granted += namespace ? heldBy(gpu, namespace) : facts.shareGranted;
    const here = namespace ? loadOf(gpu, namespace) : facts.load;
    if (here !== undefined) {
      load += here;
      measured++;
    }
    (namespace ? wordsOf(gpu, namespace) : facts.words).forEach((word) => words.set(word, (words.get(word) ?? 0) + 1));
  }
  return {
    share: granted / gpus.length,
    granted,
    load: measured === 0 ? undefined : load / measured,
    measured,
    words: [...words].map(([word, count]) => `${count} ${word}`),
  };
}

/** The SM load of a namespace's pods on a GPU; undefined unless it is known of all of them. */
function loadOf(gpu: Gpu, namespace: string): number | undefined {
  let load = 0;
  for (const holder of gpu.holders) {
    if (holder.namespace !== namespace) continue;
    if (holder.sm === undefined) return undefined;
    load += gpusOf(holder.sm);
  }
  return load;
}

export const NO_PODS = "(no pods)";

const NAMES: Record<string, (gpu: Gpu) => readonly string[]> = {
  node: (gpu) => [gpu.node],
  model: (gpu) => [gpu.model],
  namespace: (gpu) =>
    gpu.holders.length === 0 ? [NO_PODS] : [...new Set(gpu.holders.map((holder) => holder.namespace))],
};

export function groupsOf(gpus: readonly Gpu[], by: string): readonly Group[] {
  const whole = gpus.length > CELLS_MAX;
  const names = whole && by === "node" ? () => ["All nodes"] : NAMES[by]!;
  const groups = [...gather(gpus, names)].map(([name, rows]) => {
    const namespace = by === "namespace" && name !== NO_PODS ? name : "";
    const { granted, load, measured, words } = sum(rows, namespace);
    const models = new Set(rows.map((gpu) => gpu.model));
    const model = models.size === 1 ? modelText([...models][0]!) : `${models.size} models`;
    const cells = whole
      ? [...gather(rows, NAMES["node"]!)].map(([node, its]) => tileOfNode(node, its, namespace))
      : rows.map((gpu) => tileOf(gpu, namespace));
    return {
      name,
      model,
      granted: namespace ? `${gpuText(granted)} on ${count(rows.length, "GPU")}` : `${gpuText(granted)} of ${rows.length}`,
      load: namespace ? useText(load, measured, rows.length) : load === undefined ? "no reading" : `load ${percent(load)}`,
      words,
      tiles: cells,
    };
  });
  if (whole) nodeTiles = new Map(groups.flatMap((group) => group.tiles.map((tile) => [`${by === "namespace" ? group.name : ""}/${tile.key}`, tile])));
  return by === "node" ? groups : groups.sort((a, b) => b.tiles.length - a.tiles.length);
}

function useText(load: number | undefined, measured: number, all: number): string {
  if (load === undefined) return "use not known";
  return `${gpuText(load * measured)} used${measured < all ? `, not known on ${all - measured}` : ""}`;
}

export const nodeText = (node: string) =>
  [...nodeTiles].find(([, tile]) => tile.key === node)?.[1].label ?? node;
