/** What the map shows of a GPU, computed once from its row. */
import { bytesOf, gpusOf } from "./quantity.ts";
import { once } from "./key.ts";
import type { Gpu } from "./types.ts";

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
}

export const factsOf = once((gpu: Gpu): Facts => {
  const bytes = bytesOf(gpu.memory);
  const grantedBytes = bytesOf(gpu.granted.memory);
  const fresh = gpu.measured?.fresh === true;
  const usedBytes = fresh && gpu.measured.memory !== undefined ? bytesOf(gpu.measured.memory) : undefined;
  const words = gpu.health === "Healthy" ? [] : [gpu.health.toLowerCase()];
  if (gpu.overuse) words.push("overused");
  const measured = fresh && gpu.measured.sm !== undefined;
  return {
    shareGranted: gpusOf(gpu.granted.gpus),
    load: measured ? gpusOf(gpu.measured.smLast ?? gpu.measured.sm) : undefined,
    mean: measured ? gpusOf(gpu.measured.sm) : undefined,
    bytes,
    grantedBytes,
    usedBytes,
    words,
  };
});

export const shareText = (gpu: Gpu) => `${gpu.replicas - gpu.freeReplicas} of ${gpu.replicas}`;

export const readingText = (gpu: Gpu) =>
  !gpu.measured ? "no reading yet" : gpu.measured.fresh ? "" : "old reading";

export const shortUuid = (uuid: string) => (uuid.length > 12 ? `${uuid.slice(0, 12)}…` : uuid);

/** The model without the vendor, since all GPUs are NVIDIA's. */
export const modelText = (model: string) => model.replace(/^NVIDIA /, "");
