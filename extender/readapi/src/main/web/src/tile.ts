/** What one cell of the map shows: a GPU, or a whole node if there are too many GPUs. */
import { factsOf, modelText, readingText, shareText } from "./gpu.ts";
import { percent } from "./quantity.ts";
import { gpuKey } from "./key.ts";
import type { Gpu } from "./types.ts";

export interface Tile {
  readonly key: string;
  readonly label: string;
  readonly name: string;
  readonly share: number;
  readonly load: number | undefined;
  readonly words: readonly string[];
  readonly gpu: Gpu | undefined;
}

export interface Group {
  readonly name: string;
  readonly model: string;
  readonly granted: string;
  /** In percent; undefined without a reading. */
  readonly load: string | undefined;
  readonly words: readonly string[];
  readonly tiles: readonly Tile[];
}

/** More cells than this are not readable: the map then has one cell for each node. */
export const CELLS_MAX = 2_000;

const tiles = new WeakMap<Gpu, Tile>();

function tileOf(gpu: Gpu): Tile {
  let tile = tiles.get(gpu);
  if (!tile) {
    const facts = factsOf(gpu);
    const load = facts.load === undefined ? readingText(gpu) : `load ${percent(facts.load)}`;
    tile = {
      key: gpuKey(gpu),
      name: String(gpu.index),
      label: [`${gpu.node} GPU ${gpu.index}`, gpu.model, `${shareText(gpu)} granted`, load, ...facts.words].join(", "),
      share: facts.shareGranted,
      load: facts.load,
      words: facts.words,
      gpu,
    };
    tiles.set(gpu, tile);
  }
  return tile;
}

/** The tiles drawn last: a node that has not changed is not drawn again. */
let nodeTiles = new Map<string, Tile>();

function tileOfNode(node: string, gpus: readonly Gpu[]): Tile {
  const sums = sum(gpus);
  const load = sums.load === undefined ? "no reading" : `load ${percent(sums.load)}`;
  const label = [node, `${gpus.length} GPUs`, `${percent(sums.share)} granted`, load, ...sums.words].join(", ");
  const before = nodeTiles.get(node);
  return before?.label === label
    ? before
    : { key: node, name: node, label, share: sums.share, load: sums.load, words: sums.words, gpu: undefined };
}

/** Means, and for each word the number of GPUs that it applies to. */
function sum(gpus: readonly Gpu[]) {
  let share = 0;
  let load = 0;
  let measured = 0;
  const words = new Map<string, number>();
  for (const gpu of gpus) {
    const facts = factsOf(gpu);
    share += facts.shareGranted;
    if (facts.load !== undefined) {
      load += facts.load;
      measured++;
    }
    facts.words.forEach((word) => words.set(word, (words.get(word) ?? 0) + 1));
  }
  return {
    share: share / gpus.length,
    granted: share,
    load: measured === 0 ? undefined : load / measured,
    words: [...words].map(([word, count]) => `${count} ${word}`),
  };
}

const NAMES: Record<string, (gpu: Gpu) => readonly string[]> = {
  node: (gpu) => [gpu.node],
  model: (gpu) => [gpu.model],
  namespace: (gpu) =>
    gpu.holders.length === 0 ? ["(no pods)"] : [...new Set(gpu.holders.map((holder) => holder.namespace))],
};

function gather(gpus: readonly Gpu[], names: (gpu: Gpu) => readonly string[]): Map<string, Gpu[]> {
  const found = new Map<string, Gpu[]>();
  for (const gpu of gpus) {
    for (const name of names(gpu)) {
      const rows = found.get(name);
      if (rows) rows.push(gpu);
      else found.set(name, [gpu]);
    }
  }
  return found;
}

export function groupsOf(gpus: readonly Gpu[], by: string): readonly Group[] {
  const whole = gpus.length > CELLS_MAX;
  const names = whole && by === "node" ? () => ["All nodes"] : NAMES[by]!;
  const groups = [...gather(gpus, names)].map(([name, rows]) => {
    const { granted, load, words } = sum(rows);
    const models = new Set(rows.map((gpu) => gpu.model));
    const model = models.size === 1 ? modelText([...models][0]!) : `${models.size} models`;
    const cells = whole
      ? [...gather(rows, NAMES["node"]!)].map(([node, its]) => tileOfNode(node, its))
      : rows.map(tileOf);
    return {
      name,
      model,
      granted: `${granted.toFixed(1)} of ${rows.length}`,
      load: load === undefined ? undefined : percent(load),
      words,
      tiles: cells,
    };
  });
  if (whole) nodeTiles = new Map(groups.flatMap((group) => group.tiles).map((tile) => [tile.key, tile]));
  return by === "node" ? groups : groups.sort((a, b) => b.tiles.length - a.tiles.length);
}

export const nodeText = (node: string) => nodeTiles.get(node)?.label ?? node;
