/** A GPU as the stack of its pods, from the top: what each holds, and what is free. */
import { factsOf } from "./gpu.ts";
import { gpusOf } from "./quantity.ts";
import { once } from "./key.ts";
import type { Gpu, Holder } from "./types.ts";

export type Part =
  | { readonly kind: "pod"; readonly share: number; readonly holder: Holder }
  /** Held by pods of other namespaces, or of which it is not known who they are. */
  | { readonly kind: "others" | "unknown"; readonly share: number }
  /** Free, or not held but not to be had either: the GPU takes no pods, or too little measured memory is free. */
  | { readonly kind: "free" | "blocked"; readonly share: number };

const LEAST = 0.0005;

export const shareOf = (holder: Holder) => holder.replicas / holder.replicasPerGpu;

const inOrder = (a: Holder, b: Holder) =>
  a.namespace < b.namespace ? -1 : a.namespace > b.namespace ? 1 : shareOf(b) - shareOf(a) || (a.name < b.name ? -1 : 1);

export const partsOf = once((gpu: Gpu): readonly Part[] => {
  const parts: Part[] = [...gpu.holders].sort(inOrder).map((holder) => ({ kind: "pod", share: shareOf(holder), holder }));
  const { shareGranted } = factsOf(gpu);
  const named = parts.reduce((sum, part) => sum + part.share, 0);
  // A bound pod whose GPU the node has not reported yet counts against each GPU that it may be on.
  if (shareGranted - named > LEAST) parts.push({ kind: "unknown", share: shareGranted - named });
  const left = 1 - Math.max(shareGranted, named);
  const free = Math.min(left, gpu.largestShareReplicas / gpu.replicas);
  if (free > LEAST) parts.push({ kind: "free", share: free });
  if (left - free > LEAST) parts.push({ kind: "blocked", share: left - free });
  return parts;
});

/** The same stack with one namespace's pods; all others are one part. */
export function partsOfNamespace(gpu: Gpu, namespace: string): readonly Part[] {
  const own: Part[] = [];
  const rest: Part[] = [];
  let others = 0;
  for (const part of partsOf(gpu)) {
    if (part.kind !== "pod") rest.push(part);
    else if (part.holder.namespace === namespace) own.push(part);
    else others += part.share;
  }
  return others > LEAST ? [...own, { kind: "others", share: others }, ...rest] : [...own, ...rest];
}

/** What pods hold and do not use, in GPUs, by namespace. */
export function addIdle(gpu: Gpu, admits: (holder: Holder) => boolean, byNamespace: Map<string, number>): void {
  for (const holder of gpu.holders) {
    if (holder.idleSince && admits(holder)) {
      byNamespace.set(holder.namespace, (byNamespace.get(holder.namespace) ?? 0) + shareOf(holder));
    }
  }
}

export const smOf = (holder: Holder) => (holder.sm === undefined ? undefined : gpusOf(holder.sm));
