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

/** GPUs with one decimal; without decimals if the number is whole, or 1000 or more. */
export function gpus(count: number): string {
  if (count >= 1000) return Math.round(count).toLocaleString("en");
  return Number.isInteger(count) ? String(count) : count.toFixed(1);
}

export function memory(bytes: number): string {
  const gib = bytes / 2 ** 30;
  if (Math.abs(gib) >= 1024) return `${(gib / 1024).toFixed(1)} TiB`;
  return `${Math.abs(gib) >= 10 || Number.isInteger(gib) ? Math.round(gib) : gib.toFixed(1)} GiB`;
}

export const percent = (share: number) => `${Math.round(share * 100)}\u00a0%`;

export function age(seconds: number): string {
  if (seconds < 1.5) return "1 s";
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3600)} h`;
}

export const count = (n: number, one: string, many = `${one}s`) =>
  `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
