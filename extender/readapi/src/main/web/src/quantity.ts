/** Converts Kubernetes quantities to numbers, and numbers to text with the usual units. */

const BINARY: Record<string, number> = { Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 };

export function gpusOf(quantity: string | undefined): number {
  if (quantity === undefined) return 0;
  return quantity.endsWith("m") ? Number(quantity.slice(0, -1)) / 1000 : Number(quantity);
}

export function bytesOf(quantity: string | undefined): number {
  if (quantity === undefined) return 0;
  const factor = BINARY[quantity.slice(-2)];
  return factor === undefined ? Number(quantity) : Number(quantity.slice(0, -2)) * factor;
}

/** GPUs with one decimal; without decimals if the number is whole, or 1000 or more. A small share is never shown as 0. */
export function gpus(count: number): string {
  if (count >= 1000) return Math.round(count).toLocaleString("en");
  const tenths = Math.round(count * 10) / 10;
  return tenths === 0 && count > 0.0005 ? share(count) : String(tenths);
}

/** A share of a GPU, to the hundredth. */
export const share = (of: number) => (of > 0.0005 && of < 0.005 ? "<0.01" : String(Math.round(of * 100) / 100));

export function memory(bytes: number): string {
  const gib = bytes / 2 ** 30;
  if (Math.abs(gib) >= 1024) return `${(gib / 1024).toFixed(1)} TiB`;
  return `${Math.abs(gib) >= 10 || Number.isInteger(gib) ? Math.round(gib) : gib.toFixed(1)} GiB`;
}

/** A part of an amount of memory, without the unit if it is the same. */
export function memoryOf(part: number, whole: number): string {
  const [number, unit] = memory(part).split(" ");
  return memory(whole).endsWith(unit!) ? number! : `${number} ${unit}`;
}

export const percent = (share: number) => `${Math.round(share * 100)}\u00a0%`;

export function age(seconds: number): string {
  if (seconds < 1.5) return "1 s";
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} d`;
}

export const count = (n: number, one: string, many = `${one}s`) =>
  `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

/** Rounds parts to hundredths so that they still sum to the rounded whole: the largest takes the difference. */
export function rounded(parts: readonly number[]): readonly number[] {
  const hundredths = parts.map((part) => Math.round(part * 100));
  const whole = Math.round(parts.reduce((sum, part) => sum + part, 0) * 100);
  const largest = hundredths.indexOf(Math.max(...hundredths));
  hundredths[largest]! += whole - hundredths.reduce((sum, part) => sum + part, 0);
  return hundredths.map((part) => part / 100);
}
