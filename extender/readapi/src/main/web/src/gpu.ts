/** What the map shows of a GPU, computed once from its row. */
import { bytesOf, gpusOf, memory } from "./quantity.ts";
import type { Gpu, Holder } from "./types.ts";

export interface Facts {
  readonly shareGranted: number;
  /** Measured SM load, the last reading; undefined without a fresh reading. */
  readonly load: number | undefined;
  /** Its weighted mean, with a half-life of ten seconds. */
  readonly mean: number | undefined;
  readonly bytes: number;
  readonly grantedBytes: number;
  readonly usedBytes: number | undefined;
  /** Conditions, one word each, since the outline of a cell alone does not explain them. */
  readonly words: readonly string[];
  /** More memory in use than granted: whose it is, as far as that is known. */
  readonly overuse: string | undefined;
  /** The namespaces whose pods use it; empty if no pod does. Undefined if nobody knows. */
  readonly overusers: readonly string[] | undefined;
}

/** Use above the grant is reported from this share of the GPU's memory on, since drivers use some memory. */
const OVERUSED_SHARE = 0.1;

const known = new WeakMap<Gpu, Facts>();

export function factsOf(gpu: Gpu): Facts {
  let facts = known.get(gpu);
  if (!facts) {
    facts = workedOut(gpu);
    known.set(gpu, facts);
  }
  return facts;
}

function workedOut(gpu: Gpu): Facts {
  const bytes = bytesOf(gpu.memory);
  const grantedBytes = bytesOf(gpu.granted.memory);
  const fresh = gpu.measured?.fresh === true;
  const usedBytes = fresh && gpu.measured.memory !== undefined ? bytesOf(gpu.measured.memory) : undefined;
  const words = gpu.health === "Healthy" ? [] : [gpu.health.toLowerCase()];
  const slack = bytes * OVERUSED_SHARE;
  const overusers = fresh ? gpu.holders.filter((holder) => bytesOf(holder.memory) > sizeOf(gpu, holder) + slack) : [];
  const overuse = usedBytes === undefined ? undefined : overuseOf(gpu, usedBytes, grantedBytes, slack, overusers);
  const known = overusers.length > 0 || nobodysBytes(gpu, usedBytes ?? 0) !== undefined;
  if (overuse) words.push("overused");
  const measured = fresh && gpu.measured.sm !== undefined;
  return {
    shareGranted: gpusOf(gpu.granted.gpus),
    load: measured ? gpusOf(gpu.measured.smLast ?? gpu.measured.sm) : undefined,
    mean: measured ? gpusOf(gpu.measured.sm) : undefined,
    bytes,
    grantedBytes,
    usedBytes,
    words,
    overuse,
    overusers: known ? overusers.map((holder) => holder.namespace) : undefined,
  };
}

const sizeOf = (gpu: Gpu, holder: Holder) => (bytesOf(gpu.memory) * holder.replicas) / holder.replicasPerGpu;

function overuseOf(gpu: Gpu, used: number, granted: number, slack: number, overusers: readonly Holder[]): string | undefined {
  const first = overusers[0];
  if (first) return `${first.name} uses ${memory(bytesOf(first.memory))} of ${memory(sizeOf(gpu, first))}`;
  if (used <= granted + slack) return undefined;
  const nobodys = nobodysBytes(gpu, used);
  return nobodys !== undefined && nobodys > slack ? `${memory(nobodys)} used by no pod` : `${memory(used - granted)} more than granted`;
}

/** Undefined unless it is known of every pod what it uses. */
function nobodysBytes(gpu: Gpu, used: number): number | undefined {
  const allKnown = gpu.holders.length === gpu.holderCount && gpu.holders.every((holder) => holder.memory !== undefined);
  return allKnown ? used - gpu.holders.reduce((sum, holder) => sum + bytesOf(holder.memory), 0) : undefined;
}

export const shareText = (gpu: Gpu) => `${gpu.replicas - gpu.freeReplicas} of ${gpu.replicas}`;

export const readingText = (gpu: Gpu) =>
  !gpu.measured ? "no reading yet" : gpu.measured.fresh ? "" : "old reading";

export const shortUuid = (uuid: string) => (uuid.length > 12 ? `${uuid.slice(0, 12)}…` : uuid);

/** The model without the vendor, since all GPUs are NVIDIA's. */
export const modelText = (model: string) => model.replace(/^NVIDIA /, "");
