/** The filter's language: words, `field:text`, `field=text` and `field>number`. All terms must match. */
import { factsOf } from "./gpu.ts";
import type { Gpu, Holder, Pod } from "./types.ts";

export interface Filter {
  readonly gpu: (gpu: Gpu) => boolean;
  readonly pod: (pod: Pod) => boolean;
  /** A pod on a GPU: false if the filter names other pods. */
  readonly holder: (holder: Holder) => boolean;
  /** Whether it names pods. */
  readonly holders: boolean;
  readonly wrong: string | undefined;
}

type Test<T> = (row: T) => boolean;
type Fields<T> = Readonly<Record<string, T>>;

/** Only own properties, since every object also inherits `constructor`. */
const fieldOf = <T>(fields: Fields<T>, name: string | undefined) =>
  name !== undefined && Object.hasOwn(fields, name) ? fields[name] : undefined;

type Match = (text: string | undefined, wanted: string) => boolean;

const has: Match = (text, part) => (text ?? "").toLowerCase().includes(part);
const is: Match = (text, whole) => (text ?? "").toLowerCase() === whole;
const any = () => true;

interface Field {
  readonly gpu: (gpu: Gpu, wanted: string, match: Match) => boolean;
  readonly pod?: (pod: Pod, wanted: string, match: Match) => boolean;
  readonly holder?: (holder: Holder, wanted: string, match: Match) => boolean;
}

/** Of GPUs that have a pod for which it is true. */
const onGpu = (holder: NonNullable<Field["holder"]>): Field["gpu"] => (gpu, wanted, match) =>
  gpu.holders.some((each) => holder(each, wanted, match));

const ofNamespace = (row: { namespace: string }, wanted: string) => is(row.namespace, wanted);
const ofName = (row: { name: string }, wanted: string, match: Match) => match(row.name, wanted);

const TEXTS: Fields<Field> = {
  model: { gpu: (gpu, wanted, match) => match(gpu.model, wanted) },
  node: {
    gpu: (gpu, wanted, match) => match(gpu.node, wanted),
    pod: (pod, wanted, match) => match(pod.node, wanted),
  },
  ns: { gpu: onGpu(ofNamespace), pod: ofNamespace, holder: ofNamespace },
  pod: { gpu: onGpu(ofName), pod: ofName, holder: ofName },
  // Whole words: "healthy" is also a part of "unhealthy".
  health: { gpu: (gpu, wanted) => factsOf(gpu).words.concat(gpu.health).some((word) => is(word, wanted)) },
  uuid: { gpu: (gpu, wanted, match) => match(gpu.uuid, wanted) },
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
  const holders: Test<Holder>[] = [];
  let wrong: string | undefined;
  for (const term of text.toLowerCase().split(/\s+/).filter(Boolean)) {
    const comparison = /^([a-z]+)(>=|<=|>|<|=)(\d+(?:\.\d+)?)%?$/.exec(term);
    const field = /^([a-z]+)([:=])(.*)$/.exec(term);
    const number = comparison && fieldOf(NUMBERS, comparison[1]);
    const named = field && fieldOf(TEXTS, field[1]);
    const match = field?.[2] === "=" ? is : has;
    if (number) {
      gpus.push((gpu) => {
        const value = number(gpu);
        return value !== undefined && COMPARE[comparison[2]!]!(value, Number(comparison[3]));
      });
    } else if (named) {
      gpus.push((gpu) => named.gpu(gpu, field[3]!, match));
      pods.push((pod) => named.pod?.(pod, field[3]!, match) ?? true);
      if (named.holder) holders.push((holder) => named.holder!(holder, field[3]!, match));
    } else if (/[:<>=]/.test(term)) {
      wrong = `"${term}" is not a filter. Allowed: text, ${ALLOWED}`;
    } else {
      gpus.push((gpu) => word(gpu, term));
      pods.push((pod) => has(`${pod.namespace}/${pod.name} ${pod.node}`, term));
    }
  }
  return { gpu: all(gpus), pod: all(pods), holder: all(holders), holders: holders.length > 0, wrong };
}

const all = <T>(tests: Test<T>[]): Test<T> =>
  tests.length === 0 ? any : (row) => tests.every((test) => test(row));

const word = (gpu: Gpu, part: string) =>
  has(gpu.node, part) ||
  has(gpu.model, part) ||
  has(gpu.uuid, part) ||
  gpu.holders.some((holder) => has(`${holder.namespace}/${holder.name}`, part));
