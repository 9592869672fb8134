/** The filter's language: words, `field:text` and `field>number`. All terms must match. */
import { factsOf } from "./gpu.ts";
import type { Gpu, Pod } from "./types.ts";

export interface Filter {
  readonly gpu: (gpu: Gpu) => boolean;
  readonly pod: (pod: Pod) => boolean;
  readonly wrong: string | undefined;
}

type Test<T> = (row: T) => boolean;
type Fields<T> = Readonly<Record<string, T>>;

/** Only own properties, since every object also inherits `constructor`. */
const fieldOf = <T>(fields: Fields<T>, name: string | undefined) =>
  name !== undefined && Object.hasOwn(fields, name) ? fields[name] : undefined;

const has = (text: string | undefined, part: string) => (text ?? "").toLowerCase().includes(part);
const any = () => true;

const TEXTS: Fields<{ gpu: (gpu: Gpu, part: string) => boolean; pod?: (pod: Pod, part: string) => boolean }> = {
  model: { gpu: (gpu, part) => has(gpu.model, part) },
  node: { gpu: (gpu, part) => has(gpu.node, part), pod: (pod, part) => has(pod.node, part) },
  ns: {
    gpu: (gpu, part) => gpu.holders.some((holder) => holder.namespace.toLowerCase() === part),
    pod: (pod, part) => pod.namespace.toLowerCase() === part,
  },
  pod: {
    gpu: (gpu, part) => gpu.holders.some((holder) => has(holder.name, part)),
    pod: (pod, part) => has(pod.name, part),
  },
  health: { gpu: (gpu, part) => factsOf(gpu).words.concat(gpu.health).some((word) => has(word, part)) },
  uuid: { gpu: (gpu, part) => has(gpu.uuid, part) },
};

const NUMBERS: Fields<(gpu: Gpu) => number | undefined> = {
  load: (gpu) => times100(factsOf(gpu).load),
  granted: (gpu) => times100(factsOf(gpu).shareGranted),
  free: (gpu) => gpu.freeReplicas,
};

export const ALLOWED = `${Object.keys(TEXTS).map((field) => `${field}:`).join(" ")} ${Object.keys(NUMBERS).map((field) => `${field}>`).join(" ")}`;

const times100 = (share: number | undefined) => share && share * 100;

const COMPARE: Record<string, (a: number, b: number) => boolean> = {
  ">": (a, b) => a > b,
  "<": (a, b) => a < b,
  ">=": (a, b) => a >= b,
  "<=": (a, b) => a <= b,
  "=": (a, b) => Math.round(a) === b,
};

export function parse(text: string): Filter {
  const gpus: Test<Gpu>[] = [];
  const pods: Test<Pod>[] = [];
  let wrong: string | undefined;
  for (const term of text.toLowerCase().split(/\s+/).filter(Boolean)) {
    const comparison = /^([a-z]+)(>=|<=|>|<|=)(\d+(?:\.\d+)?)%?$/.exec(term);
    const field = /^([a-z]+):(.*)$/.exec(term);
    const number = comparison && fieldOf(NUMBERS, comparison[1]);
    const named = field && fieldOf(TEXTS, field[1]);
    if (number) {
      gpus.push((gpu) => {
        const value = number(gpu);
        return value !== undefined && COMPARE[comparison[2]!]!(value, Number(comparison[3]));
      });
    } else if (named) {
      gpus.push((gpu) => named.gpu(gpu, field[2]!));
      pods.push((pod) => named.pod?.(pod, field[2]!) ?? true);
    } else if (/[:<>=]/.test(term)) {
      wrong = `"${term}" is not a filter. Allowed: text, ${ALLOWED}`;
    } else {
      gpus.push((gpu) => word(gpu, term));
      pods.push((pod) => has(`${pod.namespace}/${pod.name} ${pod.node}`, term));
    }
  }
  return { gpu: all(gpus), pod: all(pods), wrong };
}

const all = <T>(tests: Test<T>[]): Test<T> =>
  tests.length === 0 ? any : (row) => tests.every((test) => test(row));

const word = (gpu: Gpu, part: string) =>
  has(gpu.node, part) ||
  has(gpu.model, part) ||
  has(gpu.uuid, part) ||
  gpu.holders.some((holder) => has(`${holder.namespace}/${holder.name}`, part));
