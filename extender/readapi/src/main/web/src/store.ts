/** The cluster as the extender reports it. Rows are replaced, never changed, so an identical row is not drawn again. */
import { computed, signal } from "@preact/signals";
import { filter } from "./url.ts";
import { gpuKey, podKey } from "./key.ts";
import type { Change, ClusterSummary, Gpu, Pod, Row } from "./types.ts";

export const gpus = signal<readonly Gpu[]>([]);
export const pods = signal<readonly Pod[]>([]);
export const summary = signal<ClusterSummary | undefined>(undefined);
/** Of what is known here. */
export const resourceVersion = signal("");
/** Time of the newest data, by the extender's clock. */
export const time = signal("");
/** Empty where nobody has named the cluster. */
export const clusterName = signal("");

export const shownGpus = computed(() => gpus.value.filter(filter.value.gpu));
export const shownPods = computed(() => pods.value.filter(filter.value.pod));
export const gpuByKey = computed(() => new Map(gpus.value.map((gpu) => [gpuKey(gpu), gpu])));
export const gpuByUuid = computed(() => new Map(gpus.value.map((gpu) => [gpu.uuid, gpu])));
export const podByKey = computed(() => new Map(pods.value.map((pod) => [podKey(pod), pod])));

export function apply(change: Change): void {
  resourceVersion.value = change.resourceVersion;
  time.value = change.time;
  if (change.complete) clusterName.value = change.clusterName ?? "";
  if (change.summary) summary.value = change.summary;
  gpus.value = merged(change.complete ? [] : gpus.value, change.gpus, change.gpusRemoved, gpuKey, gpuPlace);
  pods.value = merged(change.complete ? [] : pods.value, change.pods, change.podsRemoved, podKey, podKey);
}

const order = new Intl.Collator("en", { numeric: true });

const gpuPlace = (gpu: Gpu) => `${gpu.node}/${gpu.index}/${gpu.uuid}`;

/** Keeps what is the same object as before, and the order. */
function merged<T extends object, K extends Row>(
  rows: readonly T[],
  changed: readonly K[] = [],
  removed: readonly string[] = [],
  key: (row: T | K) => string,
  place: (row: T) => string,
): readonly T[] {
  if (changed.length + removed.length === 0) return rows;
  const changes = new Map(changed.map((row) => [key(row), row]));
  const gone = new Set(removed);
  const kept: T[] = [];
  for (const row of rows) {
    const name = key(row);
    const change = changes.get(name);
    if (change) kept.push(patched(row, change));
    else if (!gone.has(name)) kept.push(row);
    changes.delete(name);
  }
  if (changes.size === 0) return kept;
  const added = [...changes.values()] as unknown as T[];
  return [...kept, ...added].sort((a, b) => order.compare(place(a), place(b)));
}

function patched<T extends object>(row: T, change: Row): T {
  const next = { ...row, ...change };
  for (const [name, value] of Object.entries(change)) {
    if (value === null) delete (next as Record<string, unknown>)[name];
  }
  return next;
}
