/** A colour for each namespace. Names in the drawing distinguish the others once there are more namespaces than colours. */
import { computed } from "@preact/signals";
import { gpus } from "./store.ts";

export const COLOURS = 8;

function hash(text: string): number {
  let sum = 2_166_136_261;
  for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 16_777_619);
  return sum >>> 0;
}

const held = computed(() => {
  const names = new Set<string>();
  for (const gpu of gpus.value) for (const holder of gpu.holders) names.add(holder.namespace);
  return [...names].sort().join();
});

/** A name keeps its colour for as long as the same namespaces hold GPUs. */
const colours = computed(() => {
  const found = new Map<string, number>();
  const taken = new Set<number>();
  for (const name of held.value ? held.value.split(",") : []) {
    let colour = hash(name) % COLOURS;
    while (taken.size < COLOURS && taken.has(colour)) colour = (colour + 1) % COLOURS;
    taken.add(colour);
    found.set(name, colour);
  }
  return found;
});

export const namespaces = computed(() => [...colours.value.keys()]);

export const colourOf = (namespace: string) => colours.value.get(namespace) ?? hash(namespace) % COLOURS;
