/** The card that a cell shows on hover and focus. */
import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { factsOf, modelText, readingText, shareText, shortUuid } from "./gpu.ts";
import { colourOf } from "./palette.ts";
import { count, memory, percent, share } from "./quantity.ts";
import { shareOf } from "./stack.ts";
import { gpuByKey } from "./store.ts";
import { nodeText } from "./tile.ts";
import { Since } from "./since.tsx";
import type { Gpu } from "./types.ts";

const PODS_MAX = 8;

export interface Hover {
  readonly key: string;
  readonly at: DOMRect;
}

export const hovered = signal<Hover | undefined>(undefined);

export function Card() {
  const box = useRef<HTMLDivElement>(null);
  const hover = hovered.value;
  useLayoutEffect(() => {
    if (!hover || !box.current) return;
    const { width, height } = box.current.getBoundingClientRect();
    const below = hover.at.bottom + 8;
    const top = below + height > innerHeight ? hover.at.top - height - 8 : below;
    const left = Math.min(Math.max(8, hover.at.left), innerWidth - width - 8);
    box.current.style.transform = `translate(${Math.round(left)}px, ${Math.round(Math.max(8, top))}px)`;
  });
  if (!hover) return null;
  const gpu = gpuByKey.value.get(hover.key);
  return (
    <div class="card" ref={box} aria-hidden="true">
      {gpu ? <OfGpu gpu={gpu} /> : <p class="mono">{nodeText(hover.key)}</p>}
    </div>
  );
}

function OfGpu({ gpu }: { gpu: Gpu }) {
  const facts = factsOf(gpu);
  return (
    <>
      <p class="mono"><b>{gpu.node} GPU {gpu.index}</b></p>
      <p>{modelText(gpu.model)} <span class="mono quiet">{shortUuid(gpu.uuid)}</span></p>
      <dl>
        <dt>Granted</dt><dd>{shareText(gpu)}</dd>
        <dt>SM load</dt><dd>{facts.load === undefined ? readingText(gpu) : `${percent(facts.load)}, mean ${percent(facts.mean ?? 0)}`}</dd>
        <dt>Memory</dt><dd>{facts.usedBytes === undefined ? "–" : memory(facts.usedBytes)} of {memory(facts.bytes)}</dd>
        <dt>Pods</dt><dd>{gpu.holderCount}</dd>
        {gpu.measured && <><dt>Measured</dt><dd><Since time={gpu.measured.time} /></dd></>}
      </dl>
      {facts.words.length > 0 && <p><b class="word">{facts.words.join(", ")}</b> {gpu.healthReason ?? ""} {gpu.overuse ?? ""}</p>}
      {gpu.holders.slice(0, PODS_MAX).map((holder) => (
        <p class="of"><i class={`ns ns${colourOf(holder.namespace)} ${holder.idleSince ? "idle" : ""}`} />{holder.namespace}/{holder.name} {share(shareOf(holder))}</p>
      ))}
      {gpu.holderCount > PODS_MAX && <p class="quiet">and {count(gpu.holderCount - PODS_MAX, "more pod")}</p>}
    </>
  );
}
