/** What the map shows of a GPU, computed once from its row. */
import { bytesOf, gpusOf } from "./quantity.ts";
import type { Gpu } from "./types.ts";

export interface Facts {
  readonly shareGranted: number;
  /** Measured SM load; undefined without a fresh reading. */
  readonly load: number | undefined;
  readonly bytes: number;
  readonly grantedBytes: number;
  readonly usedBytes: number | undefined;
  /** Conditions, one word each, since the outline of a cell alone does not explain them. */
  readonly words: readonly string[];
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
  const usedBytes = gpu.measured && bytesOf(gpu.measured.memory);
  const words = gpu.health === "Healthy" ? [] : [gpu.health.toLowerCase()];
  if (usedBytes !== undefined && usedBytes > grantedBytes + bytes * OVERUSED_SHARE) {
    words.push("overused");
  }
  const fresh = gpu.measured?.fresh === true && gpu.measured.sm !== undefined;
  return {
    shareGranted: gpusOf(gpu.granted.gpus),
    load: fresh ? gpusOf(gpu.measured!.sm) : undefined,
    bytes,
    grantedBytes,
    usedBytes,
    words,
  };
}

export const shareText = (gpu: Gpu) => `${gpu.replicas - gpu.freeReplicas} of ${gpu.replicas}`;

export const readingText = (gpu: Gpu) =>
  !gpu.measured ? "no reading yet" : gpu.measured.fresh ? "" : "old reading";

export const shortUuid = (uuid: string) => (uuid.length > 12 ? `${uuid.slice(0, 12)}…` : uuid);

/** The model without the vendor, since all GPUs are NVIDIA's. */
export const modelText = (model: string) => model.replace(/^NVIDIA /, "");
