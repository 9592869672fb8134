/** The cluster as the stream reports it. Rows are replaced, never changed, so an identical row is not drawn again. */
import { computed, signal } from "@preact/signals";
import { filter } from "./url.ts";
import { gpuKey, podKey } from "./key.ts";
import type { Gpu, Pod, StreamSummary } from "./types.ts";

export const gpus = signal<readonly Gpu[]>([]);
export const pods = signal<readonly Pod[]>([]);
export const summary = signal<StreamSummary | undefined>(undefined);
/** Time of the newest data, by the extender's clock. */
export const time = signal("");
/** Empty where nobody has named the cluster. */
export const clusterName = signal("");

export const shownGpus = computed(() => gpus.value.filter(filter.value.gpu));
export const shownPods = computed(() => pods.value.filter(filter.value.pod));
export const gpuByKey = computed(() => new Map(gpus.value.map((gpu) => [gpuKey(gpu), gpu])));
export const gpuByUuid = computed(() => new Map(gpus.value.map((gpu) => [gpu.uuid, gpu])));
export const podByKey = computed(() => new Map(pods.value.map((pod) => [podKey(pod), pod])));

export interface Snapshot {
  readonly time: string;
  readonly clusterName?: string;
  readonly gpus: readonly Gpu[];
  readonly pods: readonly Pod[];
  readonly summary: StreamSummary;
}

type Row = Readonly<Record<string, unknown>>;

export interface Change {
  readonly time: string;
  readonly gpus?: readonly (Row & { node: string; uuid: string })[];
  /** uuids */
  readonly gpusRemoved?: readonly string[];
  readonly pods?: readonly (Row & { namespace: string; name: string })[];
  /** `namespace/name` */
  readonly podsRemoved?: readonly string[];
  readonly summary?: Partial<StreamSummary>;
}

export function start(snapshot: Snapshot): void {
  gpus.value = sorted(snapshot.gpus, gpuPlace);
  pods.value = sorted(snapshot.pods, podKey);
  summary.value = snapshot.summary;
  clusterName.value = snapshot.clusterName ?? "";
  time.value = snapshot.time;
}

export function apply(change: Change): void {
  gpus.value = merged(without(gpus.value, change.gpusRemoved, (gpu) => gpu.uuid), change.gpus, gpuKey, gpuPlace);
  pods.value = merged(without(pods.value, change.podsRemoved, podKey), change.pods, podKey, podKey);
  if (change.summary && summary.value) summary.value = { ...summary.value, ...change.summary };
  time.value = change.time;
}

const order = new Intl.Collator("en", { numeric: true });

const gpuPlace = (gpu: Gpu) => `${gpu.node}/${gpu.index}/${gpu.uuid}`;

const sorted = <T>(rows: readonly T[], place: (row: T) => string) =>
  [...rows].sort((a, b) => order.compare(place(a), place(b)));

function without<T>(rows: readonly T[], removed: readonly string[] = [], key: (row: T) => string): readonly T[] {
  if (removed.length === 0) return rows;
  const gone = new Set(removed);
  return rows.filter((row) => !gone.has(key(row)));
}

function merged<T extends object, K extends object>(
  rows: readonly T[],
  changed: readonly (Row & K)[] = [],
  key: (row: T | K) => string,
  place: (row: T) => string,
): readonly T[] {
  if (changed.length === 0) return rows;
  const changes = new Map(changed.map((row) => [key(row), row]));
  const kept = rows.map((row) => {
    const change = changes.get(key(row));
    if (!change) return row;
    changes.delete(key(row));
    return patched(row, change);
  });
  return changes.size === 0 ? kept : sorted([...kept, ...([...changes.values()] as unknown as T[])], place);
}

/** null: the field no longer exists. */
function patched<T extends object>(row: T, change: Row): T {
  const next = { ...row, ...change };
  for (const [name, value] of Object.entries(change)) {
    if (value === null) delete (next as Record<string, unknown>)[name];
  }
  return next;
}
